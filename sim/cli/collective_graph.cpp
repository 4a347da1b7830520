#include <algorithm>
#include <map>

#include "sim/cli/collective_verb.hpp"

namespace trainyard {
namespace {

std::string name_of(const Cluster& cluster, LinkId link) {
  const Link& of = cluster.links[index(link)];
  return cluster.vertices[index(of.from)] + ">" + cluster.vertices[index(of.to)];
}

Path path_of(const Cluster& cluster, const CollectiveGroup& group, const std::map<LinkId, ChannelId>& channel_of) {
  Path path;
  LinkUses own;
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
