// The same case under several seeds as one result.
#pragma once

#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// The first result, with means and intervals over all that ran over a horizon; the first that did not end well, if one did not.
/// A mean of fewer than two has no interval (half width 0).
[[nodiscard]] CaseResult over_seeds(std::vector<CaseResult> results);

}  // namespace trainyard
