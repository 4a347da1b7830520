// The meaning of a task graph once more, written for being read instead of for speed: the partner of differential tests.
#pragma once

#include "sim/engine/executor.hpp"

namespace trainyard {

/// Plain C++: looks at everything again in every instant, O(instants · tasks). Any number of runs in a process. Does what
/// SimGridExecutor documents; shares nothing with it but the types.
class ReferenceExecutor final : public Executor {
 public:
  Timeline run(const TaskGraph& graph, const EventTrace& events, Controller& controller) override;
};

}  // namespace trainyard
