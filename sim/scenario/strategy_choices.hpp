// The section `strategies:`.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace trainyard {

/// Names looked up in the registry, options checked against the strategy's schema and by the strategy itself. `section`
/// is a list that the schema has accepted. Mistakes go to `diagnostics`.
[[nodiscard]] std::vector<StrategyChoice> read_strategies(const ConfigValue& section, const std::string& directory,
                                                          Diagnostics& diagnostics);

}  // namespace trainyard
