// One collective on a cluster as a task graph.
#pragma once

#include <vector>

#include "sim/lowering/collective_group.hpp"
#include "sim/model/task_graph.hpp"

namespace trainyard {

struct PlacedCollective {
  CollectiveGroup group;
  CollectiveCost cost;
};

/// All at once: each is a task, a delay and then one flow over all links of its group. Links that several share are channels; a
/// link of one's own only bounds its flow, which is the same and far cheaper.
[[nodiscard]] TaskGraph collective_graph(const Cluster& cluster, const std::vector<PlacedCollective>& collectives);

}  // namespace trainyard
