// The catalogue files: models and software presets by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/model/software.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// A model of workloads/models.yaml.
struct CatalogueModel {
  std::string name, source;
  std::vector<std::string> aliases;  ///< other names of the same sizes
  Architecture architecture;
  double published_parameters = 0;
  double rounding = 0;  ///< unit of the last digit that was published
  double published_active = 0, active_rounding = 0;  ///< the same of those that one token meets; 0: not published
};

/// In file order; read once. A mistake in a catalogue file is an InternalError.
[[nodiscard]] const std::vector<CatalogueModel>& catalogue_models();
/// The entry of that name or alias, or null.
[[nodiscard]] const CatalogueModel* find_model(const std::string& name);

/// The switches as fields of an object, all optional.
[[nodiscard]] std::vector<SchemaField> software_switch_fields();
/// `software` with the switches that `map`, checked against the fields above, sets.
[[nodiscard]] Software with_switches(Software software, const ConfigValue& map);
/// The preset of that name.
[[nodiscard]] std::optional<Software> find_software(const std::string& name);

}  // namespace trainyard
