// What more of a resource would buy.
#pragma once

#include <string>

#include "sim/units/quantity.hpp"

namespace trainyard {

/// A case again with one resource scaled. A gain of 0.04 is 4 % more tokens a second; a cost change of -0.04 is 4 % less a token.
struct ResourceGain {
  std::string resource;                  ///< "FLOP/s of A100-SXM4-40GB", "links nvlink3", "price of a100", ..
  double factor = 1;                     ///< by which it was scaled
  Seconds step_time{};
  double throughput_gain = 0, cost_change = 0;
  std::string why_not;                   ///< the scaled case has no answer; else ""
};

}  // namespace trainyard
