#include "validation/sources/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace trainyard {
namespace {

/// Parts of published names and the workloads that they stand for.
struct OtherWorkload {
  std::string_view part, what;
};
constexpr std::array kOthers{OtherWorkload{"moe 352b", "mixture of experts whose sizes are not printed"},
                             OtherWorkload{"nemotron v3", "hybrid of attention and state-space layers"},
                             OtherWorkload{"nemotron_3_super", "experts that work in a narrower width than the model's (latent experts)"},
                             OtherWorkload{"nemotron_3_ultra", "experts that work in a narrower width than the model's (latent experts)"},
                             OtherWorkload{"nemotron_3_5", "hybrid whose sizes are not printed"},
                             OtherWorkload{"qwen3_next", "hybrid of attention and gated delta-rule layers"},
                             OtherWorkload{"wan 2.1", "video diffusion whose recompute is not printed: without it 37,440 tokens a sample do not fit"},
                             OtherWorkload{"transgan", "generator of images"}};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string id_of(const CsvTable& table, const CsvRow& row) {
  if (!row["id"].empty()) return row["id"];
  return fmt::format("{}_{:03}", table.name.substr(0, table.name.rfind('.')), row.row_number());
}

Measurement map_row(const Source& source, const CsvTable& table, const CsvRow& row) {
  Measurement measurement;
  measurement.id = id_of(table, row);
  measurement.source = source.name;
  measurement.file = table.name;
  measurement.citation = row["source"];
  try {
    source.map(row, measurement);
    if (!measurement.step_time_s && !measurement.peak_memory_bytes && !measurement.out_of_memory)
      throw Unmapped("no measured time or memory is printed");
  } catch (const Unmapped& why) {
    measurement.unmapped = why.what();
    measurement.cluster = measurement.workload = measurement.plan = "";
  }
  if (measurement.group.empty())
    measurement.group = fmt::format("{}/{}/{}", measurement.source, measurement.gpu, measurement.model);
  return measurement;
}

}  // namespace

const std::vector<Source>& sources() {
  static const std::vector<Source> all{
      vtrain_multi_source(), vtrain_single_source(), alephalpha_source(), bigscience_source(), mosaicml_source(),
      papers_source(),       nemo_source(),          bridge_source(),     dgxc_source(),       pytorch_source(),
      simumax_source(),      megatron_ci_source(),   mlperf_source(),     amp_source(),        sailor_source()};
  return all;
}

const Source* recognise(const std::vector<std::string>& header) {
  for (const Source& source : sources())
    if (std::all_of(source.columns.begin(), source.columns.end(), [&](std::string_view column) {
          return std::find(header.begin(), header.end(), column) != header.end();
        }))
      return &source;
  return nullptr;
}

std::vector<Measurement> map_table(const Source& source, const CsvTable& table) {
  std::vector<Measurement> all;
  for (const CsvRow& row : table.rows) all.push_back(map_row(source, table, row));
  return all;
}

void set_run(Measurement& measurement, const TrainingRun& run) {
  measurement.cluster = cluster_text(run);
  measurement.workload = workload_text(run);
  measurement.plan = plan_text(run);
}

void need_read_figure(const CsvRow& row) {
  if (row.has("confidence", "memory - verify")) throw Unmapped("recalled, not read: not to be used for an error");
}

void refuse_other_workloads(const std::string& model) {
  const std::string name = lower_case(model);
  for (const OtherWorkload& other : kOthers)
    if (name.find(other.part) != std::string::npos) throw Unmapped(fmt::format("workload: {}", other.what));
}

}  // namespace trainyard
