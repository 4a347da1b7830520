#include <algorithm>
#include <map>

#include "sim/cli/collective_verb.hpp"

namespace trainyard {
namespace {

std::string name_of(const Cluster& cluster, LinkId link) {
  const Link& of = cluster.links[index(link)];
  return cluster.vertices[index(of.from)] + ">" + cluster.vertices[index(of.to)];
}

using Links = std::vector<std::pair<LinkId, int>>;

BytesPerSecond rate_over(const Cluster& cluster, const Links& links) {
  BytesPerSecond least{};
  for (const auto& [link, times] : links) {
    const BytesPerSecond share = cluster.links[index(link)].bandwidth / double(times);
    if (least.value == 0 || share < least) least = share;
  }
  return least;
}

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

Path path_of(const Cluster& cluster, const CollectiveGroup& group, const std::map<LinkId, ChannelId>& channel_of) {
  Path path;
  Links own;
  for (const auto& use : group.links) {
    const auto channel = channel_of.find(use.first);
    if (channel == channel_of.end())
      own.push_back(use);
    else
      path.channels.emplace_back(channel->second, use.second);
  }
  path.limit = rate_over(cluster, own);
  return path;
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

TaskGraph collective_graph(const Cluster& cluster, const std::vector<PlacedCollective>& collectives) {
  std::map<LinkId, int> users;
  for (const PlacedCollective& one : collectives)
    for (const auto& [link, times] : one.group.links) ++users[link];
  TaskGraph graph;
  std::map<LinkId, ChannelId> channel_of;
  for (const auto& [link, count] : users) {
    if (count < 2) continue;
    channel_of[link] = id_at<ChannelId>(graph.channels.size());
    graph.channels.push_back({name_of(cluster, link), cluster.links[index(link)].bandwidth});
  }
  for (const PlacedCollective& one : collectives) {
    Task task;
    task.phases.push_back({one.cost.delay, std::nullopt, {{id_at<PathId>(graph.paths.size()), one.cost.bytes}}});
    graph.paths.push_back(path_of(cluster, one.group, channel_of));
    graph.tasks.push_back(std::move(task));
  }
  return graph;
}

}  // namespace trainyard
