// In words: what one case's step wastes less of than another's, and which difference of their Plans goes with it.
#pragma once

#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// "pipeline bubble 21.0 % → 8.0 %: stages follow GPU speed", most device time saved first, at most three. Shares of
/// the step of `slower` and of `faster`; computing itself in time a step, where both have as many devices. A kind of
/// time counts if its share of the step falls by half a point at least and a hundredth of the slower one's device time
/// a sample is saved by it.
[[nodiscard]] std::vector<std::string> gap_reasons(const CaseResult& faster, const CaseResult& slower);

}  // namespace trainyard
