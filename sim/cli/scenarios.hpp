// Reading the scenario files of a command line.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace trainyard {

/// All of them; throws one UserError with the mistakes of every file that has some.
[[nodiscard]] std::vector<Scenario> load_scenarios(const std::vector<std::string>& files);

}  // namespace trainyard
