// YAML `workload:` -> Workload: models as operators, from the catalogue, a config.json in Hugging Face's layout, or
// written out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/model/workload.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// Of the `workload:` section.
[[nodiscard]] Schema workload_schema();

/// Builds the workload that a section (already checked against workload_schema()) describes; mistakes go to
/// `diagnostics`.
[[nodiscard]] Workload build_workload(const ConfigValue& section, const std::string& directory,
                                      Diagnostics& diagnostics);

/// The shape of the section's model, or nothing where it has none (a trace) or a mistake, which goes to `diagnostics`.
[[nodiscard]] std::optional<Architecture> build_architecture(const ConfigValue& section, const std::string& directory,
                                                             Diagnostics& diagnostics);

struct ModelEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;  ///< layers, hidden, heads, vocabulary, parameters
  std::string details;  ///< lines: MLP, positions, norms, biases, windows
  std::string source;
  double parameters = 0;
};
[[nodiscard]] std::vector<ModelEntry> model_catalogue();
[[nodiscard]] std::vector<Software> software_presets();
/// Text of all catalogue files, for `catalogue_hash`.
[[nodiscard]] std::string workload_catalogue_text();

}  // namespace trainyard
