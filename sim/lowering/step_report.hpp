// Timeline -> StepReport: what the last simulated period of a training step amounts to.
#pragma once

#include <vector>

#include "sim/lowering/lower.hpp"
#include "sim/model/step_report.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

/// Ends of the steps of an unrolled graph.
struct StepEnds {
  std::vector<Seconds> end;              ///< [step]
  /// Length of step i (the first from 0).
  [[nodiscard]] Seconds length(std::size_t i) const { return i == 0 ? end[0] : end[i] - end[i - 1]; }
  /// Whether the last two steps have equal lengths to 1e-9.
  [[nodiscard]] bool repeats() const;
};
/// `step_tasks`: tasks of one step.
[[nodiscard]] StepEnds step_ends(const Timeline& timeline, std::size_t step_tasks);

/// The report over the last `window` steps of the unrolled graph (means over them). `unrolled` is unroll(lowered.graph, ..).
[[nodiscard]] StepReport report_step(const Lowered& lowered, const TaskGraph& unrolled, const Timeline& timeline, int window,
                                     const Workload& workload, const Cluster& cluster);

}  // namespace trainyard
