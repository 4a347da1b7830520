// `--strategies a,b`.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace trainyard {

/// The strategies of a scenario that are to run: all of its own for an empty selection; else, for each name, its
/// entries in the scenario with their options, or the registered strategy of that name with defaults. "all" adds every
/// registered strategy that needs no options. Throws UserError for names that do not exist or that need options.
[[nodiscard]] std::vector<StrategyChoice> select_strategies(const Scenario& scenario,
                                                            const std::vector<std::string>& selection);

}  // namespace trainyard
