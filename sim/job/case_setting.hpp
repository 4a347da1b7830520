// What a case names, made: its strategy, how its Plans are lowered.
#pragma once

#include <memory>

#include "sim/job/case.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/planning/strategy.hpp"

namespace trainyard {

/// Throws UserError for a name that is not registered and for options that the strategy refuses.
[[nodiscard]] std::unique_ptr<Strategy> make_strategy(const Case& which);

[[nodiscard]] LoweringOptions lowering_options(const Case& which, const CaseOptions& options);

}  // namespace trainyard
