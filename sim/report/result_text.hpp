// Results as JSON and CSV: every key carries its unit, doubles read back exactly, the same results give the same bytes.
#pragma once

#include <string>
#include <utility>
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

/// One case as a JSON object on one line, without wall times: what a store of results keeps.
[[nodiscard]] std::string to_json_line(const CaseResult& result);

/// What a store kept, with the settings under which the case ran.
struct SavedRecord {
  std::vector<std::pair<std::string, std::string>> settings;
  std::string record;  ///< of `to_json_line`
};
/// One JSON object a line: `set`, a map of the settings, then the keys of the record.
[[nodiscard]] std::string to_json_lines(const std::vector<SavedRecord>& records);
/// As `to_csv`, a column a setting before the others; the settings of all records have the same keys.
[[nodiscard]] std::string to_csv(const std::vector<SavedRecord>& records);
/// For a terminal: settings, variant and strategy if any differ, and the figures that people compare; a line a record.
[[nodiscard]] std::string to_table(const std::vector<SavedRecord>& records);

}  // namespace trainyard
