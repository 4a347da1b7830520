// One table of published measurements: how it is recognised and what a row means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "validation/csv.hpp"
#include "validation/measurement.hpp"
#include "validation/sources/training_run.hpp"

namespace trainyard {

struct Source {
  std::string_view name;
  std::vector<std::string_view> columns;  ///< a table whose header has all of them is this source's
  /// Fills the measurement; throws Unmapped with the reason when the row is no scenario. What was filled in before
  /// stays.
  void (*map)(const CsvRow& row, Measurement& into);
};

[[nodiscard]] const std::vector<Source>& sources();

/// The source whose columns a header has, or null.
[[nodiscard]] const Source* recognise(const std::vector<std::string>& header);

/// Every row of a table as a measurement, in order; rows that are no scenario say why.
[[nodiscard]] std::vector<Measurement> map_table(const Source& source, const CsvTable& table);

/// Puts the three texts of a run in place.
void set_run(Measurement& measurement, const TrainingRun& run);
/// Throws Unmapped for a row that was recalled and not read.
void need_read_figure(const CsvRow& row);
/// Mixture-of-experts, multimodal and the like: what `model` names in the published tables. Throws Unmapped.
void refuse_other_workloads(const std::string& model);

// One function a file of this folder.
[[nodiscard]] Source vtrain_multi_source();
[[nodiscard]] Source vtrain_single_source();
[[nodiscard]] Source alephalpha_source();
[[nodiscard]] Source bigscience_source();
[[nodiscard]] Source mosaicml_source();
[[nodiscard]] Source papers_source();
[[nodiscard]] Source nemo_source();
[[nodiscard]] Source bridge_source();
[[nodiscard]] Source dgxc_source();
[[nodiscard]] Source pytorch_source();
[[nodiscard]] Source simumax_source();
[[nodiscard]] Source megatron_ci_source();
[[nodiscard]] Source mlperf_source();
[[nodiscard]] Source amp_source();
[[nodiscard]] Source sailor_source();

}  // namespace trainyard
