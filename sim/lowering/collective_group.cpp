#include "sim/lowering/collective_group.hpp"

#include <algorithm>
#include <map>

namespace trainyard {

BytesPerSecond rate_over(const Cluster& cluster, const LinkUses& links) {
  BytesPerSecond least{};
  for (const auto& [link, times] : links) {
    const BytesPerSecond share = cluster.links[index(link)].bandwidth / double(times);
    if (least.value == 0 || share < least) least = share;
  }
  return least;
}

namespace {

std::optional<InnerGroup> inner_group(const Cluster& cluster, const Router& router, const std::vector<DeviceId>& members) {
  if (members.empty()) return std::nullopt;
  const RingUse use = router.rings(members);
  if (use.nodes > 1) return std::nullopt;
  return InnerGroup{static_cast<int>(members.size()), rate_over(cluster, use.links) * double(use.rings),
                    cluster.transports[index(use.transport)]};
}

CollectiveGroup ring_group(const Cluster& cluster, const Router& router, const std::vector<DeviceId>& members) {
  const RingUse use = router.rings(members);
  CollectiveGroup group{{}, use.links, use.transport};
  group.shape.members = static_cast<int>(members.size());
  group.shape.hops = use.nodes > 1 ? use.nodes : group.shape.members;
  group.shape.rings = use.rings;
  group.shape.hop_latency = use.hop_latency;
  group.shape.inside = inner_group(cluster, router, use.beside_first);
  return group;
}

CollectiveGroup neighbours(const Router& router, const std::vector<DeviceId>& members) {
  CollectiveGroup group;
  std::map<LinkId, int> uses;
  BytesPerSecond slowest{};
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Route& route = router.route(members[i], members[(i + 1) % members.size()]);
    for (const LinkId link : route.links) ++uses[link];
    group.shape.hop_latency = std::max(group.shape.hop_latency, route.latency);
    if (i > 0 && slowest <= route.bottleneck) continue;
    slowest = route.bottleneck;
    group.transport = router.transport_of(route);
  }
  group.links.assign(uses.begin(), uses.end());
  group.shape.members = static_cast<int>(members.size());
  group.shape.hops = 1;
  return group;
}

}  // namespace

CollectiveGroup collective_group(const Cluster& cluster, const Router& router, const std::vector<DeviceId>& members,
                                 CollectiveKind kind) {
  CollectiveGroup group =
      kind == CollectiveKind::send ? neighbours(router, members) : ring_group(cluster, router, members);
  group.shape.kind = kind;
  group.shape.ring_rate = rate_over(cluster, group.links);
  return group;
}

}  // namespace trainyard
