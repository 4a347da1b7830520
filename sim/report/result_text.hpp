// Results as JSON and CSV: every key carries its unit, doubles read back exactly, the same results give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// What stands above the results.
struct ResultHead {
  std::string version;
  std::string catalogue_hash;
  bool timings = false;  ///< also planner_wall_s and simulation_wall_s, which differ from run to run
};

/// One document, `schema: trainyard/result/1`, one object a case under `results` (design.md §3). What a case does not
/// have is null, never 0.
[[nodiscard]] std::string to_json(const std::vector<CaseResult>& results, const ResultHead& head);

/// The same as RFC 4180: a header line, then one row a case; nested keys are joined by a dot, absent values are empty,
/// lists are joined by "; ", the Plan is its JSON text.
[[nodiscard]] std::string to_csv(const std::vector<CaseResult>& results, const ResultHead& head);

}  // namespace trainyard
