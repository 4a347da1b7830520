// Outcomes of `check` for continuous integration.
#pragma once

#include <string>
#include <vector>

#include "validation/baseline.hpp"

namespace trainyard {

/// JUnit XML: one test case a baseline, its drift as the failure's text.
[[nodiscard]] std::string to_junit(const std::vector<BaselineOutcome>& outcomes);

}  // namespace trainyard
