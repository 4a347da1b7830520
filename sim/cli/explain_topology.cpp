#include "sim/cli/explain_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/report/numbers.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

constexpr int kNoTier = -1;

/// What each vertex is.
struct Places {
  explicit Places(const Cluster& cluster)
      : device(cluster.vertices.size(), nullptr), tier(cluster.vertices.size(), kNoTier) {
    for (const Device& of : cluster.devices) device[index(of.vertex)] = &of;
    for (std::size_t v = 0; v < device.size(); ++v)
      if (device[v] != nullptr && device[v]->kind == DeviceKind::nic) tier[v] = 0;
    for (int t = 0; reach(cluster, t); ++t) {
    }
  }

  /// Switches between nodes that tier t leads to become tier t + 1.
  bool reach(const Cluster& cluster, int t) {
    bool found = false;
    for (const Link& link : cluster.links) {
      const std::size_t to = index(link.to);
      if (tier[index(link.from)] != t || tier[to] != kNoTier || device[to] != nullptr) continue;
      if (!cluster.vertices[to].starts_with("fabric.")) continue;
      tier[to] = t + 1;
      found = true;
    }
    return found;
  }

  std::vector<const Device*> device;  ///< [vertex]; null for switches
  std::vector<int> tier;              ///< [vertex]: 0 NICs, 1.. switches between nodes by their distance from NICs
};

/// `a.0.pcie3` is a pcie, `fabric.unit0.rail3` a rail, `fabric.0-2` a router.
std::string kind_of(const Cluster& cluster, const Places& places, VertexId vertex) {
  if (const Device* device = places.device[index(vertex)]) {
    switch (device->kind) {
      case DeviceKind::gpu:
        return "GPU";
      case DeviceKind::cpu:
        return "host";
      case DeviceKind::nic:
        return "NIC";
      default:
        return "storage";
    }
  }
  const std::string& name = cluster.vertices[index(vertex)];
  std::string word = name.substr(name.rfind('.') + 1);
  while (!word.empty() && word.find_last_of("0123456789-") == word.size() - 1) word.pop_back();
  return word.empty() ? "router" : word;
}

std::string counts_text(const Cluster& cluster, const Places& places) {
  std::map<DeviceKind, std::size_t> devices;
  for (const Device& device : cluster.devices) ++devices[device.kind];
  const auto between = std::count_if(places.tier.begin(), places.tier.end(), [](int t) { return t > 0; });
  return fmt::format("  {} nodes, {} GPUs, {} NICs, {} switches between nodes, {} links (one way each)\n",
                     whole(double(cluster.nodes.size())), whole(double(devices[DeviceKind::gpu])),
                     whole(double(devices[DeviceKind::nic])), whole(double(between)),
                     whole(double(cluster.links.size())));
}

/// One line a class of links: both ends, transport, rates as printed.
std::string links_text(const Cluster& cluster, const Places& places) {
  std::map<std::pair<std::string, std::string>, std::size_t> classes;
  for (const Link& link : cluster.links) {
    std::string a = kind_of(cluster, places, link.from), b = kind_of(cluster, places, link.to);
    if (b < a) std::swap(a, b);
    std::string what = fmt::format("{:<12} {} nominal, {} reached", cluster.transports[index(link.transport)].name,
                                   to_text(link.nominal), to_text(link.bandwidth));
    if (link.latency.value > 0) what += ", latency " + to_text(link.latency);
    ++classes[{a + " - " + b, std::move(what)}];
  }
  std::string text = "  links\n";
  for (const auto& [of, count] : classes)
    text += fmt::format("    {:<20} {:>9} x {}\n", of.first, whole(double(count)), of.second);
  return text;
}

/// Capacities of one tier of switches.
struct Tier {
  std::size_t switches = 0;
  double below = 0, beside = 0, above = 0;  ///< nominal, from the tier upwards
};

std::string tiers_text(const Cluster& cluster, const Places& places) {
  std::map<int, Tier> tiers;
  for (int tier : places.tier)
    if (tier > 0) ++tiers[tier].switches;
  for (const Link& link : cluster.links) {
    const int from = places.tier[index(link.from)], to = places.tier[index(link.to)];
    if (from == kNoTier || to == kNoTier) continue;
    if (to == from + 1) tiers[to].below += link.nominal.value;
    if (to == from + 1 && from > 0) tiers[from].above += link.nominal.value;
    if (to == from && from > 0) tiers[from].beside += link.nominal.value;
  }
  std::string text = tiers.empty() ? "" : "  tiers\n";
  for (const auto& [number, tier] : tiers) {
    text += fmt::format("    {}: {} switches, {} from below", number, whole(double(tier.switches)),
                        to_text(BytesPerSecond(tier.below)));
    if (tier.beside > 0) text += fmt::format(", {} among themselves", to_text(BytesPerSecond(tier.beside)));
    if (tier.above > 0)
      text += fmt::format(", {} upwards, oversubscription {:.3g}", to_text(BytesPerSecond(tier.above)),
                          tier.below / tier.above);
    text += "\n";
  }
  return text;
}

std::string bisection_text(const Cluster& cluster, const Places& places) {
  if (cluster.nodes.size() < 2) return "";
  double half = 0;
  for (const Link& link : cluster.links) {
    const Device* from = places.device[index(link.from)];
    if (places.tier[index(link.to)] == 1 && from != nullptr && index(from->node) < cluster.nodes.size() / 2)
      half += link.nominal.value;
  }
  const BytesPerSecond cut = bisection(cluster);
  std::string text = fmt::format("  bisection (first half of the nodes to the second): {} nominal", to_text(cut));
  if (half > 0) text += fmt::format(", {:.3g} % of what the first half's NICs send", 100 * cut.value / half);
  return text + "\n";
}

}  // namespace

std::string topology_text(const Cluster& cluster) {
  const Places places(cluster);
  return "topology: " + cluster.fabric + "\n" + counts_text(cluster, places) + links_text(cluster, places) +
         tiers_text(cluster, places) + bisection_text(cluster, places);
}

}  // namespace trainyard
