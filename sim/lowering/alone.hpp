// Communication as if nobody else used its links.
#pragma once

#include "sim/model/task_graph.hpp"

namespace trainyard {

/// Every phase's flows become a delay: the longest of latency + bytes over the narrowest channel of the path, shared only with
/// itself; with a kernel beside them, what is longer. What simulated communication is compared with in ablations.
void make_communication_alone(TaskGraph& graph);

}  // namespace trainyard
