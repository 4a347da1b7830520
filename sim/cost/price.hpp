// Dollars of a step.
#pragma once

#include <span>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// Price of all nodes that hold one of these devices (a node is rented whole).
struct Price {
  DollarsPerSecond rate{};
  bool known = true;               ///< false when one of the nodes has no price
};
[[nodiscard]] Price price_of(const Cluster& cluster, std::span<const DeviceId> devices);

}  // namespace trainyard
