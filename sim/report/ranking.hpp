// The order of rows, and the sentence that says what separates the first two.
#pragma once

#include <string>
#include <vector>

#include "sim/report/table.hpp"

namespace trainyard {

/// Indices into `block.results`: those with a number first, best first (equal ones in file order), then the rest in
/// file order.
[[nodiscard]] std::vector<std::size_t> ranked(const TableBlock& block);

/// Index of the result with the lowest price a token, where at least two are known and it is the only one; else -1.
[[nodiscard]] int cheapest(const TableBlock& block);

/// "a is 25.0 % faster than b: it uses 100.0 % of the cluster's FLOP/s, b 59.0 %; a token costs 40.0 % more.", or ""
/// with fewer than two numbers.
[[nodiscard]] std::string comparison(const TableBlock& block, const std::vector<std::size_t>& order);

/// Sets CaseResult::pareto_front of the results with speed and price: whether no other is at least as fast and as cheap, and in one of the two
/// better. Nothing is set where fewer than two are known.
void mark_pareto_front(TableBlock& block);

/// Why each row is faster than the one below it, a line a gap ("" where there is nothing to say): its Plan's differences by gap_reasons.
[[nodiscard]] std::string gaps_text(const TableBlock& block, const std::vector<std::size_t>& order);

/// Names of strategies as rows show them: numbered where one occurs several times.
[[nodiscard]] std::vector<std::string> row_names(const TableBlock& block);
/// The same for a terminal: short, on one line.
[[nodiscard]] std::vector<std::string> shown_names(const TableBlock& block);

}  // namespace trainyard
