// Results as one HTML page that opens without a network: library, charts and data are in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/result_text.hpp"
#include "sim/report/table.hpp"

namespace trainyard {

/// A scenario's file as it was read, to copy.
struct PageSource {
  std::string scenario, text;
};

struct ResultsPage {
  const std::vector<TableBlock>& blocks;
  std::vector<PageSource> sources;
  ResultHead head;
  std::function<std::string(const std::string&)> plan_yaml;  ///< a Plan's JSON as YAML
};

/// Of `run` and `compare`: ranked tables, where the time goes, throughput against cost, and of each case with a trace
/// its last simulated step (sim/report/page/README.md says what is thinned and how).
[[nodiscard]] std::string results_page(const ResultsPage& results);

/// Of `sweep` and `merge`: a figure over one or two of the keys that were set.
[[nodiscard]] std::string sweep_page(const std::vector<SavedRecord>& records, const ResultHead& head);

/// Of `validate`: predicted against measured, from its JSON (`schema: trainyard/validation/1`).
[[nodiscard]] std::string validation_page(const std::string& comparison_json, const ResultHead& head);

/// Any JSON document in the page; "<" is escaped, so that no text can end the script that holds it.
[[nodiscard]] std::string page_around(std::string_view document);

}  // namespace trainyard
