// What a scenario says of a job that is longer than a step.
#pragma once

#include <limits>
#include <map>
#include <string>

#include "sim/units/quantity.hpp"

namespace trainyard {

struct LongRun {
  Seconds horizon{};                     ///< 0: until the tokens are trained
  double tokens = std::numeric_limits<double>::infinity();
  Seconds planning{};                    ///< simulated time that every planning takes
  std::map<std::string, DollarsPerSecond> on_demand;  ///< what a node of a group costs on demand; groups without a price are missing
};

}  // namespace trainyard
