#include "sim/lowering/transition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

DeviceId host_beside(const Cluster& cluster, DeviceId device) {
  const Node& node = cluster.nodes[index(cluster.devices[index(device)].node)];
  for (const DeviceId other : node.devices)
    if (cluster.devices[index(other)].kind == DeviceKind::cpu) return other;
  throw UserError(cluster.devices[index(device)].name + " has no host in whose memory its state could lie");
}

/// The node's network cards are shared out among its devices by their positions.
const Device* card_of(const Cluster& cluster, DeviceId device) {
  const std::vector<DeviceId>& devices = cluster.nodes[index(cluster.devices[index(device)].node)].devices;
  std::vector<DeviceId> cards;
  for (const DeviceId other : devices)
    if (cluster.devices[index(other)].kind == DeviceKind::nic) cards.push_back(other);
  const auto position = std::size_t(std::ranges::find(devices, device) - devices.begin());
  return cards.empty() ? nullptr : &cluster.devices[index(cards[position % cards.size()])];
}

/// The link between a card and the first switch outside its node.
std::optional<LinkId> outer_link(const Cluster& cluster, const Device& card, bool outwards) {
  const auto is_inside = [&](VertexId vertex) {
    const auto at = [&](DeviceId other) { return cluster.devices[index(other)].vertex == vertex; };
    return std::ranges::any_of(cluster.nodes[index(card.node)].devices, at);
  };
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    const Link& link = cluster.links[i];
    if ((outwards ? link.from : link.to) != card.vertex || cluster.transports[index(link.transport)].family.empty()) continue;
    if (!is_inside(outwards ? link.to : link.from)) return id_at<LinkId>(i);
  }
  return std::nullopt;
}

std::vector<LinkId> outside(const Cluster& cluster, const Router& router, DeviceId device, bool outwards) {
  const Device* card = card_of(cluster, device);
  if (card == nullptr) return {};
  const std::optional<LinkId> last = outer_link(cluster, *card, outwards);
  const DeviceId host = host_beside(cluster, device);
  const auto card_id = id_at<DeviceId>(std::size_t(card - cluster.devices.data()));
  std::vector<LinkId> links = outwards ? router.route(host, card_id).links : router.route(card_id, host).links;
  if (last) links.insert(outwards ? links.end() : links.begin(), *last);
  return links;
}

class Moves {
 public:
  Moves(const Cluster& cluster, const Router& router, const Store& store) : cluster_(cluster), router_(router), store_(store) {}

  TaskGraph lower(const std::vector<StateMove>& moves) {
    for (const StateMove& move : moves) add(move);
    return std::move(graph_);
  }

 private:
  void add(const StateMove& move) {
    Path path;
    if (move.from.kind == SiteKind::store || move.to.kind == SiteKind::store)
      by_store(move, path);
    else
      cross(router_.route(end_of(move.from), end_of(move.to)).links, path);
    Task task;
    task.label.kind = TaskKind::other;
    task.label.detail = fmt::format("state of {} from {}", layers(move), name_of(move.from));
    task.slots = {{stream(move.to, name_of(move.from)), 0}};
    task.phases = {{Seconds(0), std::nullopt, {{id_at<PathId>(graph_.paths.size()), move.bytes}}}};
    graph_.paths.push_back(std::move(path));
    graph_.tasks.push_back(std::move(task));
  }

  /// Through the host's memory and a network card.
  void by_store(const StateMove& move, Path& path) {
    if (!store_.exists()) throw UserError("checkpoints need a store: give `market.store` a bandwidth");
    const bool out = move.to.kind == SiteKind::store;
    const Site& inside = out ? move.from : move.to;
    const DeviceId host = host_beside(cluster_, inside.device);
    if (inside.kind == SiteKind::device && out) cross(router_.route(inside.device, host).links, path);
    cross(out ? links_to_outside(cluster_, router_, inside.device) : links_from_outside(cluster_, router_, inside.device), path);
    if (inside.kind == SiteKind::device && !out) cross(router_.route(host, inside.device).links, path);
    const std::string node = cluster_.devices[index(inside.device)].name;
    if (store_.per_node.value > 0)
      path.channels.emplace_back(named_channel(fmt::format("node {} {}", index(cluster_.devices[index(inside.device)].node), out ? "to store" : "from store"), store_.per_node), 1);
    path.channels.emplace_back(named_channel(out ? "to store" : "from store", store_.bandwidth), 1);
    path.latency += store_.latency;
  }

  void cross(const std::vector<LinkId>& links, Path& path) {
    for (const LinkId link : links) {
      const ChannelId channel = named_channel(fmt::format("link {}", index(link)), cluster_.links[index(link)].bandwidth);
      const auto known = std::ranges::find(path.channels, channel, &std::pair<ChannelId, int>::first);
      if (known == path.channels.end())
        path.channels.emplace_back(channel, 1);
      else
        ++known->second;
      path.latency += cluster_.links[index(link)].latency;
    }
  }

  ChannelId named_channel(const std::string& name, BytesPerSecond capacity) {
    const auto [at, is_new] = channels_.try_emplace(name, id_at<ChannelId>(graph_.channels.size()));
    if (is_new) graph_.channels.push_back({name, capacity});
    return at->second;
  }

  StreamId stream(const Site& site, const std::string& name) {
    graph_.streams.push_back({processor(site), "from " + name, Discipline::arrival});
    return id_at<StreamId>(graph_.streams.size() - 1);
  }

  ProcessorId processor(const Site& site) {
    const auto [at, is_new] = processors_.try_emplace(name_of(site), id_at<ProcessorId>(graph_.processors.size()));
    if (is_new) graph_.processors.push_back(make_processor(site));
    return at->second;
  }

  Processor make_processor(const Site& site) const {
    if (site.kind == SiteKind::store) return {.name = "store", .model = "store", .node = -1};
    const Device& device = cluster_.devices[index(end_of(site))];
    return {device.name, cluster_.device_types[index(device.type)].name, int(device.node), device.memory};
  }

  DeviceId end_of(const Site& site) const { return site.kind == SiteKind::host ? host_beside(cluster_, site.device) : site.device; }
  std::string name_of(const Site& site) const {
    return site.kind == SiteKind::store ? "store" : cluster_.devices[index(end_of(site))].name;
  }

  static std::string layers(const StateMove& move) {
    return move.first == move.last ? fmt::format("layer {}", index(move.first))
                                   : fmt::format("layers {} to {}", index(move.first), index(move.last));
  }

  const Cluster& cluster_;
  const Router& router_;
  const Store& store_;
  TaskGraph graph_;
  std::map<std::string, ChannelId> channels_;
  std::map<std::string, ProcessorId> processors_;
};

}  // namespace

std::vector<LinkId> links_to_outside(const Cluster& cluster, const Router& router, DeviceId device) {
  return outside(cluster, router, device, true);
}

std::vector<LinkId> links_from_outside(const Cluster& cluster, const Router& router, DeviceId device) {
  return outside(cluster, router, device, false);
}

TaskGraph lower_moves(const std::vector<StateMove>& moves, const Cluster& cluster, const Router& router, const Store& store) {
  return Moves(cluster, router, store).lower(moves);
}

}  // namespace trainyard
