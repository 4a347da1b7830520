// The part of a cluster that one job has to itself, with the fabric that it shares.
#pragma once

#include <vector>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// Some nodes with every link that ends at no device of another. Names and vertices stay as they were; nodes, devices and links are
/// numbered anew, in the same order. What happens to its devices and links happens here, too.
struct ClusterShare {
  Cluster cluster;
  std::vector<LinkId> links;             ///< [link here] the same link in the whole
};
/// `chosen`: [node].
[[nodiscard]] ClusterShare share_of(const Cluster& whole, const std::vector<bool>& chosen);

}  // namespace trainyard
