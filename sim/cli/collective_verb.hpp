// One collective on a cluster as a task graph.
#pragma once

#include <utility>
#include <vector>

#include "sim/cost/collective_time.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// A group of GPUs with what a collective of theirs needs.
struct CollectiveGroup {
  CollectiveShape shape;              ///< kind and algorithm are set by the caller
  std::vector<std::pair<LinkId, int>> links;
  TransportId transport{};
};

/// Rings over the members, as Router::rings builds them; of `send`: every member sends to the next, the last to the first.
[[nodiscard]] CollectiveGroup collective_group(const Cluster& cluster, const Router& router, const std::vector<DeviceId>& members,
                                               CollectiveKind kind);

struct PlacedCollective {
  CollectiveGroup group;
  CollectiveCost cost;
};

/// All at once: each is a task, a delay and then one flow over all links of its group. Links that several share are channels; a
/// link of one's own only bounds its flow, which is the same and far cheaper.
[[nodiscard]] TaskGraph collective_graph(const Cluster& cluster, const std::vector<PlacedCollective>& collectives);

}  // namespace trainyard
