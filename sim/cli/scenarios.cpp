#include "sim/cli/scenarios.hpp"

#include "sim/units/error.hpp"

namespace trainyard {

std::vector<Scenario> load_scenarios(const std::vector<std::string>& files) {
  std::vector<Scenario> scenarios;
  std::string mistakes;
  for (const std::string& file : files) {
    try {
      scenarios.push_back(load_scenario(file));
    } catch (const UserError& error) {
      if (!mistakes.empty() && !mistakes.ends_with('\n')) mistakes += '\n';
      mistakes += error.what();
    }
  }
  if (!mistakes.empty()) throw UserError(mistakes);
  return scenarios;
}

}  // namespace trainyard
