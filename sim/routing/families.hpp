// Which network cards cannot exchange memory directly, and what they do instead.
#pragma once

#include <optional>
#include <vector>

#include "sim/model/cluster.hpp"

namespace trainyard {

/// InfiniBand, RoCE, EFA and plain Ethernet are families of their own: between unlike cards only TCP is common.
class Families {
 public:
  explicit Families(const Cluster& cluster);

  /// The cluster's TCP transport where these links, of one way, join cards of different families or cross a link that
  /// speaks TCP only; nothing where no family changes or the cluster has no such transport. Of links between switches
  /// only those of TCP count: other switches carry any family.
  [[nodiscard]] std::optional<TransportId> fallback_for(const std::vector<LinkId>& links) const;

 private:
  const Cluster& cluster_;
  std::vector<int> family_;  ///< [transport]; 0: no network
  std::vector<bool> nic_;    ///< [vertex]
  std::optional<TransportId> common_;
  bool several_ = false;
};

}  // namespace trainyard
