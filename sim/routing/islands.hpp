// Nodes whose GPUs hang on the same switches.
#pragma once

#include <vector>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// [node]: the first node of its island. Nodes are of one island where a vertex without a device joins GPUs of both
/// directly: an NVLink domain over several nodes. Most nodes are islands of their own.
[[nodiscard]] std::vector<NodeId> nvlink_islands(const Cluster& cluster);

}  // namespace trainyard
