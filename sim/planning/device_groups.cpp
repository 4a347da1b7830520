#include "sim/planning/device_groups.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/model/convolution.hpp"

namespace trainyard {
namespace {

using KindKey = std::tuple<DeviceTypeId, double, std::string>;

KindKey kind_of(const Cluster& cluster, DeviceId id) {
  const Device& device = cluster.devices[index(id)];
  return {device.type, device.slowdown, cluster.nodes[index(device.node)].group};
}

/// Numbers in order of first use over the whole cluster.
std::map<KindKey, int> kinds_of(const Cluster& cluster) {
  std::map<KindKey, int> kinds;
  for (const DeviceId id : cluster.gpus()) kinds.emplace(kind_of(cluster, id), int(kinds.size()));
  return kinds;
}

/// How two nodes reach each other.
struct Way {
  bool direct = false;
  BytesPerSecond rate{};
};

Way way_between(const Cluster& cluster, const Router& router, NodeId a, NodeId b) {
  const Route& route = router.route(gpus_of(cluster, a).front(), gpus_of(cluster, b).front());
  const std::string& family = cluster.transports[index(router.transport_of(route))].family;
  const auto own = [&](LinkId link) { return cluster.transports[index(cluster.links[index(link)].transport)].family; };
  const bool speaks_own = std::ranges::any_of(route.links, [&](LinkId link) { return own(link) == family; });
  const bool translated = std::ranges::any_of(route.links, [&](LinkId link) { return !own(link).empty() && own(link) != family; });
  return {speaks_own && !translated && route.latency < Seconds(1e-3), route.bottleneck};
}

}  // namespace

std::vector<DeviceId> gpus_of(const Cluster& cluster, NodeId node) {
  std::vector<DeviceId> gpus;
  for (const DeviceId id : cluster.nodes[index(node)].devices)
    if (cluster.devices[index(id)].kind == DeviceKind::gpu) gpus.push_back(id);
  return gpus;
}

bool divides_heads(const Module& module, int tensor) {
  for (const LayerType& type : module.types)
    for (const Operator& op : type.operators)
      if ((tensor > 1 && is_convolution(op)) || op.attention.heads % tensor != 0 || op.attention.key_value_heads % tensor != 0) return false;
  return true;
}

std::vector<NodeId> nodes_with_gpus(const Cluster& cluster) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    if (!gpus_of(cluster, id_at<NodeId>(i)).empty()) nodes.push_back(id_at<NodeId>(i));
  return nodes;
}

std::vector<TensorUnit> tensor_units(const Cluster& cluster, std::span<const NodeId> nodes, int tensor) {
  const std::map<KindKey, int> kinds = kinds_of(cluster);
  std::vector<TensorUnit> units;
  for (const NodeId node : nodes) {
    TensorUnit unit;
    for (const DeviceId id : gpus_of(cluster, node)) {
      const int kind = kinds.at(kind_of(cluster, id));
      if (!unit.devices.empty() && unit.kind != kind) unit.devices.clear();
      unit.devices.push_back(id);
      unit.node = node;
      unit.kind = kind;
      if (int(unit.devices.size()) < tensor) continue;
      units.push_back(unit);
      unit.devices.clear();
    }
  }
  return units;
}

std::vector<int> tensor_sizes(const Cluster& cluster, std::span<const NodeId> nodes, const Workload& workload) {
  std::size_t smallest = nodes.empty() ? 0 : SIZE_MAX;
  for (const NodeId node : nodes) smallest = std::min(smallest, gpus_of(cluster, node).size());
  const Module& module = workload.modules[index(workload.passes.front().module)];
  const bool measured = std::ranges::any_of(module.types, &LayerType::only_measured);
  std::vector<int> sizes;
  for (int tensor = 1; tensor <= int(smallest) && !(measured && tensor > 1); tensor *= 2)
    if (divides_heads(module, tensor)) sizes.push_back(tensor);
  return sizes;
}

std::vector<std::vector<NodeId>> islands(const Cluster& cluster, const Router& router, std::span<const NodeId> nodes) {
  struct Island {
    std::vector<NodeId> nodes;
    BytesPerSecond fastest{};
  };
  std::vector<Island> found;
  for (const NodeId node : nodes) {
    Island* home = nullptr;
    BytesPerSecond rate{};
    for (Island& island : found) {
      const Way way = way_between(cluster, router, island.nodes.front(), node);
      if (!way.direct || way.rate * 2.0 < island.fastest || way.rate <= rate) continue;
      home = &island;
      rate = way.rate;
    }
    if (!home) home = &found.emplace_back();
    home->nodes.push_back(node);
    home->fastest = std::max(home->fastest, rate);
  }
  std::vector<std::vector<NodeId>> result;
  for (Island& island : found) result.push_back(std::move(island.nodes));
  return result;
}

std::vector<std::vector<NodeId>> nodes_by_kind(const Cluster& cluster, std::span<const NodeId> nodes) {
  std::vector<std::pair<std::pair<DeviceTypeId, double>, std::vector<NodeId>>> found;
  for (const NodeId node : nodes) {
    const Device& first = cluster.devices[index(gpus_of(cluster, node).front())];
    const std::pair key(first.type, first.slowdown);
    const auto known = std::ranges::find(found, key, [](const auto& entry) { return entry.first; });
    if (known == found.end())
      found.emplace_back(key, std::vector{node});
    else
      known->second.push_back(node);
  }
  std::vector<std::vector<NodeId>> result;
  for (auto& [key, members] : found) result.push_back(std::move(members));
  return result;
}

}  // namespace trainyard
