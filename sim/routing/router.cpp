#include "sim/routing/router.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "sim/routing/families.hpp"
#include "sim/routing/islands.hpp"
#include "sim/routing/path_search.hpp"
#include "sim/units/error.hpp"

namespace trainyard {

struct Router::State {
  explicit State(const Cluster& of) : cluster(of), search(of), families(of), islands(nvlink_islands(of)) {}

  const Cluster& cluster;
  PathSearch search;
  Families families;
  std::vector<NodeId> islands;                        ///< [node]
  std::unordered_map<std::uint64_t, Route> routes;    ///< by from and to; never iterated
  std::unordered_map<std::int32_t, DeviceId> nic_of;  ///< by GPU; never iterated
};

namespace {

Route route_over(const Cluster& cluster, std::vector<LinkId> links) {
  Route route;
  route.links = std::move(links);
  for (LinkId id : route.links) {
    const Link& link = cluster.links[index(id)];
    route.latency += link.latency;
    if (route.bottleneck.value == 0 || link.bandwidth < route.bottleneck) route.bottleneck = link.bandwidth;
  }
  return route;
}

Passage passage_between(const Device& from, const Device& to) {
  const bool same_node = from.node == to.node;
  const bool gpus = from.kind == DeviceKind::gpu && to.kind == DeviceKind::gpu;
  const bool nics = from.kind == DeviceKind::nic && to.kind == DeviceKind::nic;
  return {.gpus = same_node && gpus, .nics = !same_node, .bridges = same_node || !(gpus || nics)};
}

std::uint64_t pair_key(DeviceId from, DeviceId to) {
  return (std::uint64_t{index(from)} << 32U) | std::uint64_t{index(to)};
}

}  // namespace

Router::Router(const Cluster& cluster) : state_(std::make_unique<State>(cluster)) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;

const Route* Router::find_route(DeviceId from, DeviceId to) const {
  if (const auto known = state_->routes.find(pair_key(from, to)); known != state_->routes.end()) return &known->second;
  auto links = search_route(from, to);
  if (!links) return nullptr;
  return &state_->routes.emplace(pair_key(from, to), route_over(state_->cluster, *std::move(links))).first->second;
}

std::optional<std::vector<LinkId>> Router::search_route(DeviceId from, DeviceId to) const {
  const Device& a = state_->cluster.devices.at(index(from));
  const Device& b = state_->cluster.devices.at(index(to));
  Passage passage = passage_between(a, b);
  auto links = state_->search.find(a.vertex, b.vertex, passage);
  if (links || passage.bridges || a.kind != DeviceKind::gpu) return links;
  if (auto by_peer = route_by_peer(from, to)) return by_peer;
  passage.bridges = true;
  return state_->search.find(a.vertex, b.vertex, passage);
}

// The peer with the receiver's position in its node comes first: it hangs on the receiver's rail.
std::optional<std::vector<LinkId>> Router::route_by_peer(DeviceId from, DeviceId to) const {
  const Cluster& cluster = state_->cluster;
  const auto& own = cluster.nodes[index(cluster.devices[index(from)].node)].devices;
  const auto& far = cluster.nodes[index(cluster.devices[index(to)].node)].devices;
  const auto position = static_cast<std::size_t>(std::find(far.begin(), far.end(), to) - far.begin());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const DeviceId peer = own[(position + i) % own.size()];
    const Device& through = cluster.devices[index(peer)];
    if (through.kind != DeviceKind::gpu || peer == from) continue;
    auto rest = state_->search.find(through.vertex, cluster.devices[index(to)].vertex, {false, true, false});
    const Passage inside{.gpus = true, .nics = false, .bridges = false};
    auto way = rest && state_->search.by_nic(*rest)
                   ? state_->search.find(cluster.devices[index(from)].vertex, through.vertex, inside)
                   : std::nullopt;
    if (!way) continue;
    way->insert(way->end(), rest->begin(), rest->end());
    return way;
  }
  return std::nullopt;
}

const Route& Router::route(DeviceId from, DeviceId to) const {
  if (const Route* found = find_route(from, to)) return *found;
  const auto& devices = state_->cluster.devices;
  throw UserError("no path from " + devices[index(from)].name + " to " + devices[index(to)].name +
                  " over the cluster's links");
}

const Cluster& Router::cluster() const { return state_->cluster; }

TransportId Router::transport_of(const Route& route) const {
  require(!route.links.empty(), "a route of no links has no transport");
  if (const auto common = common_transport(route)) return *common;
  const auto& links = state_->cluster.links;
  if (const auto bridge = bridge_inside(route)) return *bridge;
  const auto slowest = std::min_element(route.links.begin(), route.links.end(), [&](LinkId a, LinkId b) {
    return links[index(a)].bandwidth < links[index(b)].bandwidth;
  });
  return links[index(*slowest)].transport;
}

std::optional<TransportId> Router::common_transport(const Route& route) const {
  return state_->families.fallback_for(route.links);
}

std::optional<TransportId> Router::bridge_inside(const Route& route) const {
  std::optional<TransportId> bridge;
  for (const LinkId link : route.links) {
    const TransportId id = state_->cluster.links[index(link)].transport;
    const Transport& transport = state_->cluster.transports[index(id)];
    if (!transport.family.empty()) return std::nullopt;
    if (transport.bridge) bridge = id;
  }
  return bridge;
}

NodeId Router::island_of(NodeId node) const { return state_->islands[index(node)]; }

std::vector<LinkId> Router::direct_links(DeviceId from, DeviceId to) const {
  const auto& devices = state_->cluster.devices;
  return state_->search.between(devices[index(from)].vertex, devices[index(to)].vertex);
}

DeviceId Router::nic_of(DeviceId gpu) const {
  if (const auto known = state_->nic_of.find(static_cast<std::int32_t>(gpu)); known != state_->nic_of.end())
    return known->second;
  const Cluster& cluster = state_->cluster;
  const Device& device = cluster.devices[index(gpu)];
  const auto vertex = state_->search.nearest_nic(device.vertex);
  if (!vertex) throw UserError(device.name + " has no NIC: no path from its node to another");
  const auto& own = cluster.nodes[index(device.node)].devices;
  const auto nic =
      std::find_if(own.begin(), own.end(), [&](DeviceId d) { return cluster.devices[index(d)].vertex == *vertex; });
  return state_->nic_of.emplace(static_cast<std::int32_t>(gpu), *nic).first->second;
}

}  // namespace trainyard
