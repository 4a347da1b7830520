// `explain --topology` and `--dot`.
#pragma once

#include <string>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// The graph as text: counts, classes of links with their rates, tiers of switches with their oversubscription, and the
/// bisection (least cut between the first half of the nodes and the second).
[[nodiscard]] std::string topology_text(const Cluster& cluster);

/// Nominal bytes/s that can cross from the first half of the nodes to the second at once: the maximum flow over the
/// links between nodes, nodes taken as points. 0 for a single node.
[[nodiscard]] BytesPerSecond bisection(const Cluster& cluster);

/// The graph in Graphviz's language, a cluster box a node; a link each way of equal rate is one edge. A link's name is
/// FROM>TO.
[[nodiscard]] std::string topology_dot(const Cluster& cluster);

}  // namespace trainyard
