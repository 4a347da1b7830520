#include "sim/routing/router.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "sim/routing/path_search.hpp"
#include "sim/units/error.hpp"

namespace trainyard {

struct Router::State {
  explicit State(const Cluster& of) : cluster(of), search(of) {}

  const Cluster& cluster;
  PathSearch search;
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
  return {.gpus = same_node && from.kind == DeviceKind::gpu && to.kind == DeviceKind::gpu, .nics = !same_node};
}

bool nearer(const Route& way, const Route& than) {
  return way.links.size() < than.links.size() ||
         (way.links.size() == than.links.size() && way.bottleneck > than.bottleneck);
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
  const Device& a = state_->cluster.devices.at(index(from));
  const Device& b = state_->cluster.devices.at(index(to));
  auto links = state_->search.find(a.vertex, b.vertex, passage_between(a, b));
  if (!links) return nullptr;
  return &state_->routes.emplace(pair_key(from, to), route_over(state_->cluster, *std::move(links))).first->second;
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
  const auto& links = state_->cluster.links;
  const auto slowest = std::min_element(route.links.begin(), route.links.end(), [&](LinkId a, LinkId b) {
    return links[index(a)].bandwidth < links[index(b)].bandwidth;
  });
  return links[index(*slowest)].transport;
}

std::vector<LinkId> Router::direct_links(DeviceId from, DeviceId to) const {
  const auto& devices = state_->cluster.devices;
  return state_->search.between(devices[index(from)].vertex, devices[index(to)].vertex);
}

// Nearest, ties to the wider way, then to the first.
DeviceId Router::nic_of(DeviceId gpu) const {
  if (const auto known = state_->nic_of.find(static_cast<std::int32_t>(gpu)); known != state_->nic_of.end())
    return known->second;
  const Cluster& cluster = state_->cluster;
  const Route* best_way = nullptr;
  DeviceId best{};
  for (DeviceId nic : cluster.nodes[index(cluster.devices[index(gpu)].node)].devices) {
    if (cluster.devices[index(nic)].kind != DeviceKind::nic) continue;
    const Route* way = find_route(gpu, nic);
    if (way == nullptr || (best_way != nullptr && !nearer(*way, *best_way))) continue;
    best_way = way;
    best = nic;
  }
  if (best_way == nullptr)
    throw UserError(cluster.devices[index(gpu)].name + " has no NIC: no path from its node to another");
  state_->nic_of.emplace(static_cast<std::int32_t>(gpu), best);
  return best;
}

}  // namespace trainyard
