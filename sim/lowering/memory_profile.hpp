// Peak memory of each processor from the simulated order of its tasks.
#pragma once

#include <vector>

#include "sim/model/step_report.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

struct MemoryPeak {
  Bytes peak{};                          ///< allocated: without what the device reserves
  MemoryBreakdown at_peak{};
  Seconds when{};
};

/// [processor], of one or several steps of the graph. What ends at an instant frees before what starts there takes.
[[nodiscard]] std::vector<MemoryPeak> memory_peaks(const TaskGraph& graph, const Timeline& timeline);

}  // namespace trainyard
