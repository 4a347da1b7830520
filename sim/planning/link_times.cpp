#include "sim/planning/link_times.hpp"

#include <algorithm>
#include <map>

namespace trainyard {

RingGroup ring_group(const Router& router, const Cluster& cluster, const std::vector<DeviceId>& members) {
  if (members.size() < 2) return {};
  const RingUse use = router.rings(members);
  RingGroup group;
  group.shape.members = int(members.size());
  group.shape.hops = use.nodes > 1 ? use.nodes : int(members.size());
  group.shape.rings = use.rings;
  group.shape.hop_latency = use.hop_latency;
  group.transport = cluster.transports[index(use.transport)];
  for (const auto& [link, times] : use.links) {
    const BytesPerSecond rate = cluster.links[index(link)].bandwidth / double(times);
    if (group.together_rate.value == 0 || rate < group.together_rate) group.together_rate = rate;
  }
  group.shape.ring_rate = group.together_rate;
  return group;
}

RingGroup first_of_rings(const Router& router, const Cluster& cluster, const std::vector<std::vector<DeviceId>>& together) {
  RingGroup first = ring_group(router, cluster, together.front());
  if (together.front().size() < 2) return first;
  std::map<LinkId, int> uses;
  for (const std::vector<DeviceId>& members : together)
    for (const auto& [link, times] : router.rings(members).links) uses[link] += times;
  for (const auto& use : router.rings(together.front()).links)
    first.together_rate = std::min(first.together_rate, cluster.links[index(use.first)].bandwidth / double(uses.at(use.first)));
  return first;
}

Seconds collective_time(RingGroup group, CollectiveKind kind, Bytes size) {
  if (group.together_rate.value == 0) return Seconds(0);
  group.shape.kind = kind;
  return collective_cost(group.shape, group.transport, size).alone(group.together_rate);
}

Seconds transfer_time(const Router& router, const Cluster& cluster, DeviceId from, DeviceId to, Bytes size) {
  if (from == to) return Seconds(0);
  const Route& route = router.route(from, to);
  const CollectiveShape shape{CollectiveKind::send, 2, 1, 1, route.bottleneck, route.latency};
  return collective_cost(shape, cluster.transports[index(router.transport_of(route))], size).alone(route.bottleneck);
}

}  // namespace trainyard
