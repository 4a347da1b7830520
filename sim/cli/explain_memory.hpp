// What `explain` says of the memory of Plans written by hand.
#pragma once

#include <string>

#include "sim/scenario/scenario.hpp"

namespace trainyard {

/// For each `fixed` strategy of the scenario on this variant: the Plan in one line and the fullest device of each stage by class,
/// or why the Plan does not hold here. "" without such strategies.
[[nodiscard]] std::string memory_text(const Scenario& scenario, const Variant& variant);

}  // namespace trainyard
