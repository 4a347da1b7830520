#include "sim/report/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/report/numbers.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Nodes of one entry of `cluster.nodes`.
struct Group {
  const Node* node = nullptr;  ///< the first
  std::size_t count = 0;
};

std::vector<Group> groups_of(const Cluster& cluster) {
  std::vector<Group> groups;
  for (const Node& node : cluster.nodes) {
    const auto same = [&](const Group& group) { return group.node->group == node.group; };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end())
      groups.push_back({&node, 1});
    else
      ++found->count;
  }
  return groups;
}

struct GpuCount {
  std::size_t count = 0;
  const DeviceType* type = nullptr;  ///< of the first; null without GPUs
};

GpuCount gpus_of(const Cluster& cluster, const Node& node) {
  GpuCount gpus;
  for (const DeviceId id : node.devices) {
    if (cluster.devices[index(id)].kind != DeviceKind::gpu) continue;
    if (gpus.count++ == 0) gpus.type = &cluster.type_of(id);
  }
  return gpus;
}

std::string gpu_text(const Cluster& cluster, const Group& group) {
  const GpuCount gpus = gpus_of(cluster, *group.node);
  if (gpus.type == nullptr) return "no GPUs";
  return fmt::format("{} {}", whole(static_cast<double>(gpus.count * group.count)), gpus.type->name);
}

const char* market_name(MarketKind market) {
  switch (market) {
    case MarketKind::on_demand:
      return "on demand";
    case MarketKind::spot:
      return "spot";
    case MarketKind::reserved:
      return "reserved";
  }
  return "";
}

std::string price_text(const Node& node) {
  if (node.price_source.empty()) return "price unknown";
  return fmt::format("{} USD/h a node, {} ({})", with_decimals(in_dollars_per_hour(node.price), 2),
                     market_name(node.market), node.price_source);
}

std::string place_text(const Node& node) {
  std::string text;
  for (const std::string& part : {node.vendor, node.region, node.zone})
    if (!part.empty()) text += (text.empty() ? "" : " ") + part;
  return text.empty() ? "" : "; " + text;
}

std::string peaks_text(const DeviceType& type) {
  std::string text;
  for (const auto& [data_type, peak] : type.peak)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(data_type), to_text(peak));
  return text;
}

/// Links of one transport and speed.
std::string links_text(const Cluster& cluster) {
  std::map<std::tuple<std::string, double, double, double>, std::size_t> kinds;
  for (const Link& link : cluster.links) {
    const std::string& transport = cluster.transports[index(link.transport)].name;
    ++kinds[{transport, link.nominal.value, link.bandwidth.value, link.latency.value}];
  }
  std::string text;
  for (const auto& [kind, count] : kinds) {
    const auto& [transport, nominal, bandwidth, latency] = kind;
    text += fmt::format("    {:>7} x {}: {} each way nominal, {} reached, latency {}\n",
                        whole(static_cast<double>(count)), transport, to_text(BytesPerSecond(nominal)),
                        to_text(BytesPerSecond(bandwidth)), to_text(Seconds(latency)));
  }
  return text;
}

std::string device_type_text(const DeviceType& type) {
  return fmt::format("    {}: {} memory ({} of it reserved), {} memory bandwidth, dense {}{}\n", type.name,
                     to_text(type.memory), to_text(type.reserved), to_text(type.memory_bandwidth), peaks_text(type),
                     type.extrapolated ? "; its parameters are inherited from another generation" : "");
}

/// Only kinds of devices that have GPUs in the cluster.
std::string device_types_text(const Cluster& cluster) {
  std::vector<bool> used(cluster.device_types.size(), false);
  for (const DeviceId gpu : cluster.gpus()) used[index(cluster.devices[index(gpu)].type)] = true;
  std::string text;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) text += device_type_text(cluster.device_types[i]);
  return text;
}

}  // namespace

std::string one_line(const Cluster& cluster) {
  std::string text;
  for (const Group& group : groups_of(cluster)) {
    const std::string& name = group.node->instance.empty() ? group.node->group : group.node->instance;
    text += fmt::format("{}{} x {} ({})", text.empty() ? "" : " + ", group.count, name, gpu_text(cluster, group));
  }
  return text.empty() ? "no nodes" : text;
}

std::string description(const Cluster& cluster) {
  std::string text = fmt::format("  {} GPUs in {} nodes; {}\n", whole(static_cast<double>(cluster.gpus().size())),
                                 whole(static_cast<double>(cluster.nodes.size())), cluster.fabric);
  text += "  nodes\n";
  for (const Group& group : groups_of(cluster)) {
    const std::string instance = group.node->instance.empty() ? "" : " " + group.node->instance;
    text += fmt::format("    {}: {} x{} ({}); {}{}\n", group.node->group, group.count, instance,
                        gpu_text(cluster, group), price_text(*group.node), place_text(*group.node));
  }
  text += "  devices\n" + device_types_text(cluster);
  return text + "  links, by kind and direction\n" + links_text(cluster);
}

}  // namespace trainyard
