// Regions over a wide-area network, measured rates, links written out.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "topologies/fabric.hpp"

namespace trainyard {
namespace {

RegionPair pair_of(const std::string& a, const std::string& b) { return a < b ? RegionPair{a, b} : RegionPair{b, a}; }

LinkClass wide_area_link(const WideArea& way) { return measured_link("ethernet", way.rate, way.latency); }

/// Regions in the order in which nodes name them, with their nodes.
class RegionBuilder {
 public:
  RegionBuilder(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder, Diagnostics& diagnostics)
      : spec_(spec), nodes_(nodes), builder_(builder), diagnostics_(diagnostics) {}

  void build() {
    for (const Attachment& node : nodes_) {
      if (node.region.empty()) return diagnostics_.add(spec_.place, "regions: every group of nodes needs a region");
      const auto known = std::find(names_.begin(), names_.end(), node.region) - names_.begin();
      if (known == std::ssize(names_)) {
        names_.push_back(node.region);
        members_.emplace_back();
      }
      members_[static_cast<std::size_t>(known)].push_back(node);
    }
    for (std::size_t r = 0; r < names_.size(); ++r) hubs_.push_back(builder_.add_vertex("fabric." + names_[r]));
    for (std::size_t r = 0; r < names_.size(); ++r) spec_.per_node ? join_nodes_apart(r) : join_nodes(r);
    if (spec_.per_node) return;
    for (std::size_t a = 0; a < names_.size(); ++a)
      for (std::size_t b = a + 1; b < names_.size(); ++b)
        if (const auto way = between(a, b)) builder_.join(hubs_[a], hubs_[b], wide_area_link(*way));
  }

 private:
  void join_nodes(std::size_t region) {
    const Attachments& nodes = members_[region];
    const Attachment* end = nodes.data() + nodes.size();
    if (spec_.leaf == 0) return add_star(nodes.data(), end, hubs_[region], builder_);
    add_leaves(spec_, nodes.data(), end, hubs_[region], "fabric." + names_[region] + ".", builder_);
  }

  /// Every node has ways of its own to the other regions.
  void join_nodes_apart(std::size_t region) {
    for (const Attachment& node : members_[region]) {
      const VertexId gate = builder_.add_vertex(fmt::format("fabric.gate{}", gates_++));
      join_nics(node, gate, builder_);
      LinkClass inside = node.whole();
      inside.latency = {};
      builder_.join(gate, hubs_[region], inside);
      for (std::size_t other = 0; other < names_.size(); ++other)
        if (other != region)
          if (const auto way = between(region, other)) builder_.add_link(gate, hubs_[other], wide_area_link(*way));
    }
  }

  std::optional<WideArea> between(std::size_t a, std::size_t b) {
    const auto known = spec_.wide_area.find(pair_of(names_[a], names_[b]));
    if (known != spec_.wide_area.end()) return known->second;
    if (!spec_.wide_area_default && missing_.insert({pair_of(names_[a], names_[b]), true}).second)
      diagnostics_.add(
          spec_.place,
          fmt::format("no way between the regions {} and {}: add it to matrix, or wan for all", names_[a], names_[b]));
    return spec_.wide_area_default;
  }

  const FabricSpec& spec_;
  const Attachments& nodes_;
  ClusterBuilder& builder_;
  Diagnostics& diagnostics_;
  std::vector<std::string> names_;
  std::vector<Attachments> members_;  ///< [region]
  std::vector<VertexId> hubs_;        ///< [region]
  std::map<RegionPair, bool> missing_;
  int gates_ = 0;
};

std::unordered_map<std::string, VertexId> nics_by_name(const ClusterBuilder& builder) {
  std::unordered_map<std::string, VertexId> nics;
  for (const Device& device : builder.cluster.devices)
    if (device.kind == DeviceKind::nic) nics.emplace(device.name, device.vertex);
  return nics;
}

}  // namespace

void add_regions(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder, Diagnostics& diagnostics) {
  RegionBuilder(spec, nodes, builder, diagnostics).build();
}

void add_matrix(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder, Diagnostics& diagnostics) {
  if (spec.matrix.size() != nodes.size())
    return diagnostics.add(
        spec.place, fmt::format("measured: the matrix has {} rows for {} nodes", spec.matrix.size(), nodes.size()));
  std::vector<VertexId> ports;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    ports.push_back(builder.add_vertex(fmt::format("fabric.port{}", n)));
    join_nics(nodes[n], ports.back(), builder);
  }
  for (std::size_t a = 0; a < ports.size(); ++a)
    for (std::size_t b = 0; b < ports.size(); ++b) {
      if (a == b) continue;
      LinkClass link = nodes[a].link;
      link.nominal = link.bandwidth = BytesPerSecond(spec.matrix[a][b]);
      builder.add_link(ports[a], ports[b], link);
    }
}

void add_listed(const FabricSpec& spec, ClusterBuilder& builder, Diagnostics& diagnostics) {
  auto places = nics_by_name(builder);
  const std::size_t nics = places.size();
  std::size_t joined = 0;
  std::unordered_map<std::string, bool> seen;
  const auto place = [&](const std::string& name) {
    const auto known = places.find(name);
    if (known == places.end()) return places.emplace(name, builder.add_vertex("fabric." + name)).first->second;
    if (!known->first.empty() && known->first.find(".nic") != std::string::npos && seen.emplace(name, true).second)
      ++joined;
    return known->second;
  };
  for (const ListedLink& listed : spec.listed) {
    LinkClass all = listed.kind;
    all.nominal *= listed.count;
    all.bandwidth *= listed.count;
    if (spec.latency && all.latency.value == 0) all.latency = *spec.latency;
    const VertexId a = place(listed.a);
    builder.join(a, place(listed.b), all);
  }
  if (joined < nics)
    diagnostics.add(spec.place, fmt::format("links: {} of {} NICs are joined to nothing; a NIC is GROUP.NODE.nicN",
                                            nics - joined, nics));
}

void apply_measured(const FabricSpec& spec, ClusterBuilder& builder, Diagnostics& diagnostics) {
  std::unordered_map<std::string, std::size_t> wanted;
  for (std::size_t i = 0; i < spec.measured.size(); ++i) wanted.emplace(spec.measured[i].link, i);
  std::vector<bool> found(spec.measured.size(), false);
  Cluster& cluster = builder.cluster;
  for (std::size_t l = 0; l < cluster.links.size(); ++l) {
    const auto entry = wanted.find(cluster.name_of(id_at<LinkId>(l)));
    if (entry == wanted.end()) continue;
    const MeasuredLink& measured = spec.measured[entry->second];
    cluster.links[l].bandwidth = measured.rate;
    cluster.links[l].latency = measured.latency.value_or(cluster.links[l].latency);
    found[entry->second] = true;
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i])
      diagnostics.add(spec.measured[i].place,
                      "no link \"" + spec.measured[i].link + "\"; `trainyard explain --dot FILE` writes all names");
}

}  // namespace trainyard
