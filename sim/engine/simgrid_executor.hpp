// The executor of the program: SimGrid moves the time.
#pragma once

#include "sim/engine/executor.hpp"

namespace trainyard {

/// Runs a graph on SimGrid. One run a process, ever (SimGrid's clock and callbacks outlive it): see workers.hpp.
///
/// What a task means beyond task_graph.hpp:
/// - A kernel runs on every processor where its task has a slot with a compute share, and takes at most that share (the
///   largest, with several slots there); with all of its share it lasts `alone`. Flows of a task without a kernel beside
///   them take the share while they run. What is asked for on a processor is shared max-min: below 1 everyone has its
///   share, beyond, the greedy are cut to equal parts. A kernel without any compute share just lasts `alone`.
/// - Flows share channels max-min, a flow of rate r taking multiplicity · r; each path's latency passes before its first byte.
/// - In one instant tasks end first, then events are applied, then tasks start, until no more do.
/// - A task cut off by a lost processor or by the controller's stop is `lost`. Events after the last end are not told.
class SimGridExecutor final : public Executor {
 public:
  Timeline run(const TaskGraph& graph, const EventTrace& events, Controller& controller) override;
  /// The same as run(unroll(graph, steps), ..) without its copies; loop-carried edges are welcome.
  static Timeline run_steps(const TaskGraph& graph, int steps, const EventTrace& events, Controller& controller);
};

/// Throws InternalError unless the graph has no problems and no loop-carried edges and the events are in order of time,
/// at times not negative, of known resources, with capacities above 0.
void require_runnable(const TaskGraph& graph, const EventTrace& events);

}  // namespace trainyard
