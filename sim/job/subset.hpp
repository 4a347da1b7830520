// The part of a cluster that is there.
#pragma once

#include <vector>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// The given nodes, in this order, with the links among them and all switches that no node owns. Nodes and devices are numbered anew
/// inside their group, so that two subsets of equal make-up are equal; events are left out. Device i of a node stays its device i.
[[nodiscard]] Cluster subset(const Cluster& cluster, const std::vector<NodeId>& nodes);

/// [vertex] the node that it belongs to, by devices and the links inside nodes; -1: shared, such as a switch of the network.
[[nodiscard]] std::vector<int> owners_of_vertices(const Cluster& cluster);

}  // namespace trainyard
