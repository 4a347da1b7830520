// A group of GPUs as a collective sees it: its shape and the links it uses.
#pragma once

#include <utility>
#include <vector>

#include "sim/cost/collective_time.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// Links that are used at once, each as often as it is crossed.
using LinkUses = std::vector<std::pair<LinkId, int>>;

/// The least capacity over multiplicity; 0: no links.
[[nodiscard]] BytesPerSecond rate_over(const Cluster& cluster, const LinkUses& links);

/// A group of GPUs with what a collective of theirs needs.
struct CollectiveGroup {
  CollectiveShape shape;              ///< kind and algorithm are set by the caller
  LinkUses links;
  TransportId transport{};
};

/// Rings over the members, as Router::rings builds them; of `send`: every member sends to the next, the last to the first.
[[nodiscard]] CollectiveGroup collective_group(const Cluster& cluster, const Router& router, const std::vector<DeviceId>& members,
                                               CollectiveKind kind);

}  // namespace trainyard
