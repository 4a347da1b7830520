// Timeline -> StepReport: what the last simulated period of a training step amounts to.
#pragma once

#include <optional>
#include <vector>

#include "sim/lowering/lower.hpp"
#include "sim/model/step_report.hpp"
#include "sim/model/step_times.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

/// Part of a simulation that is reported: `steps` periods from `from` to `to`.
struct StepWindow {
  Seconds from{}, to{};
  int steps = 1;
  [[nodiscard]] Seconds step_time() const { return (to - from) / double(steps); }
};

/// First start and last end of each step of an unrolled graph. Neighbouring steps may overlap.
struct StepTimes {
  std::vector<Seconds> start, end;       ///< [step]
  /// The last period, if they repeat (period_of). Two steps: end to end, which must equal start to start. More: start to start,
  /// since nothing follows the last step that could hold up its end. One step stands for itself.
  [[nodiscard]] std::optional<StepWindow> period() const;
  /// The last `steps` periods, start to start.
  [[nodiscard]] StepWindow last(int steps) const;
};
/// `step`: the graph of one step. Tasks that hold nothing (joins) start whenever they may and do not count as a start.
[[nodiscard]] StepTimes step_times(const TaskGraph& step, const Timeline& timeline);

/// The report over a window of a timeline of several steps (means over the window's). What has not ended by the timeline's end
/// runs at least to the end of the window.
[[nodiscard]] StepReport report_step(const Lowered& lowered, const Timeline& timeline, const StepWindow& window, const Workload& workload,
                                     const Cluster& cluster);

}  // namespace trainyard
