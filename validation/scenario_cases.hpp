// The cases of a scenario file, as they are run.
#pragma once

#include "sim/job/case.hpp"
#include "sim/scenario/scenario.hpp"

namespace trainyard {

/// One strategy on one variant, with the variant's other jobs beside it. What it points to stays with the arguments.
[[nodiscard]] Case case_of(const Scenario& scenario, const Variant& variant, const StrategyChoice& choice);

}  // namespace trainyard
