// The pieces of to_yaml and to_json. Private to sim/planning.
#pragma once

#include <string>

#include "sim/config/config_value.hpp"
#include "sim/model/symbolic_plan.hpp"

namespace trainyard::plan_writing {

// Values without a place.
[[nodiscard]] ConfigValue scalar(std::string text);
[[nodiscard]] ConfigValue list(std::vector<ConfigValue> items = {});
[[nodiscard]] ConfigValue map();
void add(ConfigValue& map, const std::string& key, ConfigValue value);

/// Adds `layout`, `zero`, .. in the grammar's order.
void add_settings(ConfigValue& map, const SymbolicSettings& settings);
[[nodiscard]] ConfigValue devices_value(const DeviceSet& devices);
[[nodiscard]] ConfigValue layers_value(const LayerSet& layers);
[[nodiscard]] ConfigValue order_value(const SymbolicOrder& order);

/// The whole tree; levels that may be left out are.
[[nodiscard]] ConfigValue plan_value(const SymbolicPlan& plan);

/// Block style on the outside, flow style for what fits on a line of 120 characters.
[[nodiscard]] std::string yaml_text(const ConfigValue& value);
/// Numbers and booleans are written as such.
[[nodiscard]] std::string json_text(const ConfigValue& value);

}  // namespace trainyard::plan_writing
