// Limits on the errors of validation.
#pragma once

#include <string>
#include <vector>

#include "validation/comparison.hpp"

namespace trainyard {

/// Checks the errors of the groups that a YAML file limits:
/// `source: {bridge: {median: 0.1, p90: 0.3, predicted: 90}}`, likewise `gpu`, `model class`, `split` and `all`; shares
/// of 1, `memory_median` and `memory_p90` for memory, `predicted` the least number of rows. Returns a line for each
/// limit passed; a limited group without rows passes its limit. Throws UserError for a file that cannot be read.
[[nodiscard]] std::vector<std::string> past_budget(const std::string& file, const std::vector<ComparedRow>& rows);

}  // namespace trainyard
