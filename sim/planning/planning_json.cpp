#include "sim/planning/planning_json.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sim/cost/memory.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

std::string node_name(const Cluster& cluster, NodeId node) {
  const std::string& first = cluster.devices[index(cluster.nodes[index(node)].devices.front())].name;
  return first.substr(0, first.rfind('.'));
}

Json type_json(const DeviceType& type) {
  Json peaks = Json::object();
  for (const auto& [precision, rate] : type.peak) peaks[std::string(name(precision))] = rate.value;
  return {{"memory_bytes", type.memory.value},
          {"peak_flops_per_s", peaks},
          {"memory_bandwidth_bytes_per_s", type.memory_bandwidth.value}};
}

Json nodes_json(const Cluster& cluster) {
  Json nodes = Json::array();
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    const Node& node = cluster.nodes[n];
    Json gpus = Json::array();
    for (const DeviceId device : node.devices)
      if (cluster.devices[index(device)].kind == DeviceKind::gpu) gpus.push_back(cluster.devices[index(device)].name);
    nodes.push_back({{"name", node_name(cluster, id_at<NodeId>(n))}, {"group", node.group}, {"zone", node.zone}, {"region", node.region},
                     {"price_usd_per_s", node.price_source.empty() ? Json() : Json(node.price.value)}, {"gpus", gpus}});
  }
  return nodes;
}

Json gpus_json(const Cluster& cluster) {
  Json gpus = Json::array();
  for (const DeviceId id : cluster.gpus()) {
    const Device& device = cluster.devices[index(id)];
    gpus.push_back({{"name", device.name}, {"type", cluster.type_of(id).name}, {"node", node_name(cluster, device.node)},
                    {"memory_bytes", device.memory.value}, {"slowdown", device.slowdown}});
  }
  return gpus;
}

/// Between the first GPUs of any two nodes, and between the first two GPUs of each.
Json routes_json(const Cluster& cluster, const Router& router) {
  std::map<NodeId, std::vector<DeviceId>> gpus;
  for (const DeviceId id : cluster.gpus()) gpus[cluster.devices[index(id)].node].push_back(id);
  Json routes = Json::array();
  const auto add = [&](DeviceId from, DeviceId to) {
    const Route& route = router.route(from, to);
    routes.push_back({{"from", cluster.devices[index(from)].name}, {"to", cluster.devices[index(to)].name},
                      {"bandwidth_bytes_per_s", route.bottleneck.value}, {"latency_s", route.latency.value}});
  };
  for (const auto& [node, own] : gpus) {
    if (own.size() > 1) add(own[0], own[1]);
    for (const auto& [other, others] : gpus)
      if (node < other) add(own[0], others[0]);
  }
  return routes;
}

Json layers_json(const Module& module) {
  Json layers = Json::array();
  const LayerCut whole;
  for (std::size_t i = 0; i < module.layers.size(); ++i) {
    const LayerId layer = id_at<LayerId>(i);
    layers.push_back({{"name", module.layers[i].name}, {"parameters", parameters_on_device(module, std::span(&layer, 1), whole)}});
  }
  return layers;
}

/// Per GPU type, per layer.
Json profile_json(const Cluster& cluster, const Workload& workload, const Router& router) {
  LayerCosts costs(cluster, workload, router);
  Json profile = Json::object();
  for (const DeviceId id : cluster.gpus()) {
    const std::string& type = cluster.type_of(id).name;
    if (profile.contains(type) || cluster.devices[index(id)].slowdown != 1) continue;
    Json layers = Json::array();
    for (const LayerCost& cost : costs.of({{id}, 1, RecomputeKind::none}))
      layers.push_back({{"forward_s", cost.forward.value}, {"backward_s", cost.backward.value}, {"states_bytes", cost.states.value},
                        {"kept_bytes", cost.kept.value}, {"output_bytes", cost.output.value}});
    profile[type] = layers;
  }
  return profile;
}

}  // namespace

std::string planning_json(const Cluster& cluster, const Workload& workload, std::int64_t budget, std::uint64_t seed) {
  const Router router(cluster);
  const Module& module = workload.modules[index(workload.passes.front().module)];
  Json types = Json::object();
  for (const DeviceId id : cluster.gpus()) types[cluster.type_of(id).name] = type_json(cluster.type_of(id));
  const Json question{
      {"budget", budget},
      {"seed", seed},
      {"cluster", {{"gpu_types", types}, {"nodes", nodes_json(cluster)}, {"gpus", gpus_json(cluster)}, {"routes", routes_json(cluster, router)}}},
      {"workload",
       {{"model", workload.model}, {"global_batch", workload.global_batch}, {"sequence_length", workload.data.sequence_length},
        {"precision", std::string(name(workload.precision))}, {"optimizer", workload.optimizer}, {"hidden", module.hidden}, {"layers", layers_json(module)}}},
      {"profile", profile_json(cluster, workload, router)}};
  return question.dump() + "\n";
}

}  // namespace trainyard
