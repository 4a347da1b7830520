// The chain of tasks and waits that makes the length of a simulated step.
#pragma once

#include <string>
#include <vector>

#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

/// What the chain does of one kind, at one stage, on one class of devices.
struct PathPart {
  std::string kind;               ///< as in a time breakdown (forward, tensor, ..), or "wait"
  int pipeline = -1, stage = -1;  ///< -1: of none
  std::string device, model;      ///< the first simulated device of the task and its catalogue key; "" of a wait
  Seconds time{};                 ///< a step
};

/// From the start of the first task at or after `to` back to `from`, `steps` steps: each task is put down to what ended
/// last of the tasks that it had to wait for (edges, also from steps before, and whoever held its streams); where that
/// ended earlier than the task starts, the rest is a wait. Most time first; the sum is (to - from) / steps. `step` is
/// the graph of one step, the timeline that of several in a row. Cost: sorts the tasks of each stream.
[[nodiscard]] std::vector<PathPart> critical_path(const TaskGraph& step, const Timeline& timeline, Seconds from,
                                                  Seconds to, int steps);

}  // namespace trainyard
