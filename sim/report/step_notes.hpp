// Lines below a table that say where one step's time went, and what would shorten it.
#pragma once

#include <string>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// `backward 53.0 % · forward 28.1 % · ..`: shares of the step, largest first, down to a thousandth.
[[nodiscard]] std::string time_text(const CaseResult& result);
/// `backward of stage 4 on V100 51.2 % · ..`: what makes the length of the step, down to a hundredth; the rest in one.
/// "" without a path.
[[nodiscard]] std::string critical_path_text(const CaseResult& result);
/// A line for each resource that changes speed or price, each indented; first what limits. "" unless sensitivity was
/// asked for.
[[nodiscard]] std::string sensitivity_text(const CaseResult& result);

}  // namespace trainyard
