// What `run` and `compare` print on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/model/case_result.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

enum class Ranking { file_order, throughput, cost, cost_under_deadline };  ///< throughput: over a horizon, the goodput

/// One scenario, or one variant of it: a heading and a row a strategy.
struct TableBlock {
  std::string scenario, variant, objective;
  const Cluster* cluster = nullptr;    ///< not null
  const Workload* workload = nullptr;  ///< not null
  Ranking ranking = Ranking::file_order;
  std::vector<CaseResult> results;  ///< in file order
  Seconds deadline{};               ///< for cost_under_deadline
};

struct TableStyle {
  bool colour = false;
  bool timings = false;  ///< wall times below the plans
  bool why = false;      ///< also the candidates that planners rejected
  std::size_t width = 0; ///< columns of the terminal: the table leaves out what does not fit, lines below it are broken; 0: no end
};

/// Ranked rows (`file_order`: as they stand), then a sentence that compares the first two, then their Plans. Cases
/// without a number stand last with their reason.
[[nodiscard]] std::string to_table(const std::vector<TableBlock>& blocks, const TableStyle& style);

}  // namespace trainyard
