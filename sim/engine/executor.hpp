// Runs a task graph: values in, values out.
#pragma once

#include "sim/model/controller.hpp"
#include "sim/model/event_trace.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

class Executor {
 public:
  virtual ~Executor() = default;
  /// The graph must have no loop-carried edges and no problems() (InternalError otherwise). A task that never started or
  /// ended is reported as such; when nothing can go on and no event is to blame, InternalError says who waits for whom.
  virtual Timeline run(const TaskGraph& graph, const EventTrace& events, Controller& controller) = 0;
};

}  // namespace trainyard
