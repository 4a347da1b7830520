// A recorded trace on a cluster as a task graph: computing as recorded (or scaled, or from the cost model), exchanges
// over the cluster's links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/execution_trace.hpp"
#include "sim/model/replay_report.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// Rank r runs on the cluster's r-th GPU.
struct ReplayedTrace {
  TaskGraph graph;
  std::vector<DeviceId> devices;  ///< [rank]
  std::vector<int>
      simulated;  ///< ranks that have processors of their own, in their order; one where a file stands for all
  std::vector<std::vector<TaskId>> task_of;  ///< [simulated][node of its file]
  std::vector<std::string> remarks;          ///< of the trace, and what the lowering had to assume
};

/// A node is one task; an exchange is one task of all its members, which starts when the last of them has come; what a
/// rank receives waits for what the other has sent, which needs no receiver that waits for it. Operations of one stream
/// of a rank follow each other. Where one file stands for all ranks, one rank is simulated: an exchange then takes the
/// links of all groups of its kind at once, at the pace of the slowest. UserError in one line (file, node): more ranks
/// than GPUs, groups whose members disagree on what they exchange, sends without receives, ranks that wait for each
/// other in a circle.
[[nodiscard]] ReplayedTrace replay(const TraceReplay& replay, const Cluster& cluster, const Router& router);

/// `timeline`: of the graph.
[[nodiscard]] ReplayReport replay_report(const TraceReplay& replay, const ReplayedTrace& lowered,
                                         const Timeline& timeline, const Cluster& cluster);

/// Operations of the replay beside those of a recorded timeline, rank by rank: by id and name where both have them,
/// else by name in order of time. What begins nowhere (no recorded time) is left out. `source`: how the user named it.
/// UserError where nothing matches.
[[nodiscard]] ReplayComparison compare_replay(const TraceReplay& replay, const ReplayedTrace& lowered,
                                              const Timeline& timeline, const ExecutionTrace& recorded,
                                              const std::string& source);

}  // namespace trainyard
