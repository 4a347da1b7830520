// Unequal shares of an axis as whole samples, heads or columns.
#pragma once

#include <span>
#include <vector>

namespace trainyard {

/// `count` whole things by largest remainder of `shares` (above zero, any scale), ties to the earlier member. Members may get none.
/// Source: plans.md, rule 6.
[[nodiscard]] std::vector<int> whole_shares(std::span<const double> shares, int count);

/// Whether any share differs from the first.
[[nodiscard]] bool are_unequal(std::span<const double> shares);

}  // namespace trainyard
