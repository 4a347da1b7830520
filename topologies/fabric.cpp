#include "topologies/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace trainyard {
namespace {

std::string counted(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// One link for all parallel up-links of a switch (equal-cost routing spreads over them): `scale` · what hangs below.
/// Cards of any family pass: the first that exchanges memory directly gives the times.
LinkClass up_link(const Attachment* first, const Attachment* last, double scale) {
  const auto* like = std::find_if(first, last, [](const Attachment& a) { return a.link.transport.direct_memory; });
  LinkClass up = like == last ? first->link : like->link;
  up.nominal = up.bandwidth = BytesPerSecond{};
  for (const Attachment* node = first; node != last; ++node) {
    up.nominal += node->whole().nominal * scale;
    up.bandwidth += node->whole().bandwidth * scale;
  }
  return up;
}

/// A leaf below `up`; returns the bandwidth that its up-link has. A switch has its up-links whether or not it is full,
/// so the mean over the nodes present stands for those that are not there.
LinkClass add_leaf(const FabricSpec& spec, const Attachment* first, const Attachment* last, VertexId up,
                   const std::string& name, ClusterBuilder& builder) {
  const VertexId leaf = builder.add_vertex(name);
  for (const Attachment* node = first; node != last; ++node) join_nics(*node, leaf, builder);
  const LinkClass link = up_link(first, last, spec.leaf / static_cast<double>(last - first) / spec.oversubscription);
  if (link.nominal.value > 0) builder.join(leaf, up, link);
  return link;
}

/// Three tiers: leaves under the switches of a pod, pods under the core.
void add_pods(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder) {
  const VertexId core = builder.add_vertex("fabric.core");
  const auto width = static_cast<std::size_t>(spec.leaf) * static_cast<std::size_t>(spec.pod_leaves);
  for (std::size_t first = 0; first < nodes.size(); first += width) {
    const std::size_t last = std::min(first + width, nodes.size());
    const std::string name = "fabric.pod" + std::to_string(first / width);
    const VertexId pod = builder.add_vertex(name);
    add_leaves(spec, nodes.data() + first, nodes.data() + last, pod, name + ".", builder);
    const double full = static_cast<double>(width) / static_cast<double>(last - first);
    const double scale = full / spec.oversubscription / spec.pod_oversubscription;
    const LinkClass up = up_link(nodes.data() + first, nodes.data() + last, scale);
    if (up.nominal.value > 0) builder.join(pod, core, up);
  }
}

void add_fat_tree(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder) {
  if (spec.pod_leaves > 0) return add_pods(spec, nodes, builder);
  const VertexId core = builder.add_vertex("fabric.core");
  add_leaves(spec, nodes.data(), nodes.data() + nodes.size(), core, "fabric.", builder);
}

std::string tree_text(const FabricSpec& spec, const std::string& size, std::size_t nodes) {
  const auto width = static_cast<std::size_t>(spec.leaf);
  const std::size_t leaves = (nodes + width - 1) / width;
  std::string text = fmt::format("fat tree of {}, {} under a leaf, {}, oversubscription {:g}", size, spec.leaf,
                                 counted(leaves, "leaf", "leaves"), spec.oversubscription);
  if (spec.pod_leaves == 0) return text;
  const auto pod = static_cast<std::size_t>(spec.pod_leaves);
  return text + fmt::format(", {} of {} leaves, oversubscription {:g} between them",
                            counted((leaves + pod - 1) / pod, "pod", "pods"), spec.pod_leaves,
                            spec.pod_oversubscription);
}

std::string kind_text(const FabricSpec& spec, std::size_t nodes) {
  const std::string size = counted(nodes, "node", "nodes");
  switch (spec.kind) {
    case FabricKind::none:
      return "none: one node";
    case FabricKind::star:
      return "star of " + size + (spec.assumed ? " (assumed: the cluster names no fabric)" : "");
    case FabricKind::fat_tree:
      return tree_text(spec, size, nodes);
    case FabricKind::rail:
      return fmt::format("rails of {}, {}joined by a spine, oversubscription {:g}", size,
                         spec.leaf > 0 ? fmt::format("{} to a rail switch, ", spec.leaf) : "", spec.oversubscription);
    case FabricKind::rail_only:
      return "rails of " + size + ", no spine";
    case FabricKind::dragonfly:
      return fmt::format("dragonfly of {}, {} to a router, {} routers to a group", size, spec.leaf, spec.group);
    case FabricKind::torus:
      return fmt::format("torus {} of {}{}", fmt::join(spec.shape, " x "), size, spec.wrap ? "" : ", open ends");
    case FabricKind::regions:
      return "regions joined by a wide-area network, " + size;
    case FabricKind::matrix:
      return "measured rates between every two of " + size;
    case FabricKind::listed:
      return fmt::format("{} written out between {}", counted(spec.listed.size(), "link", "links"), size);
  }
  return "";
}

/// Unlike cards, or a wide-area network between cards, fall back to TCP: the cluster must know it.
void add_common_transport(const Attachments& nodes, ClusterBuilder& builder) {
  std::set<std::string> families;
  for (const Attachment& node : nodes)
    if (!node.nics.empty()) families.insert(node.link.transport.family);
  if (families.size() > 1) builder.transport_id(catalogue_link("ethernet", BytesPerSecond(1)).transport);
}

}  // namespace

LinkClass Attachment::whole() const {
  LinkClass all = link;
  all.nominal *= static_cast<double>(nics.size());
  all.bandwidth *= static_cast<double>(nics.size());
  return all;
}

std::string fabric_text(const FabricSpec& spec, std::size_t nodes) {
  return spec.name.empty() ? kind_text(spec, nodes) : spec.name + ": " + kind_text(spec, nodes);
}

void join_nics(const Attachment& node, VertexId to, ClusterBuilder& builder) {
  for (VertexId nic : node.nics) builder.join(nic, to, node.link);
}

void add_star(const Attachment* first, const Attachment* last, VertexId centre, ClusterBuilder& builder) {
  for (const Attachment* node = first; node != last; ++node) join_nics(*node, centre, builder);
}

void add_leaves(const FabricSpec& spec, const Attachment* first, const Attachment* last, VertexId core,
                const std::string& prefix, ClusterBuilder& builder) {
  int number = 0;
  for (const Attachment* node = first; node < last; node += std::min<std::ptrdiff_t>(spec.leaf, last - node))
    add_leaf(spec, node, node + std::min<std::ptrdiff_t>(spec.leaf, last - node), core,
             prefix + "leaf" + std::to_string(number++), builder);
}

void add_fabric(const FabricSpec& spec, Attachments nodes, ClusterBuilder& builder, Diagnostics& diagnostics) {
  if (spec.latency)
    for (Attachment& node : nodes) node.link.latency = *spec.latency;
  builder.cluster.fabric = fabric_text(spec, nodes.size());
  if (spec.kind == FabricKind::star)
    add_star(nodes.data(), nodes.data() + nodes.size(), builder.add_vertex("fabric.switch"), builder);
  if (spec.kind == FabricKind::fat_tree) add_fat_tree(spec, nodes, builder);
  if (spec.kind == FabricKind::rail || spec.kind == FabricKind::rail_only) add_rails(spec, nodes, builder);
  if (spec.kind == FabricKind::torus) add_torus(spec, nodes, builder, diagnostics);
  if (spec.kind == FabricKind::dragonfly) add_dragonfly(spec, nodes, builder);
  if (spec.kind == FabricKind::regions) add_regions(spec, nodes, builder, diagnostics);
  if (spec.kind == FabricKind::matrix) add_matrix(spec, nodes, builder, diagnostics);
  if (spec.kind == FabricKind::listed) add_listed(spec, builder, diagnostics);
  if (!spec.measured.empty()) apply_measured(spec, builder, diagnostics);
  if (!spec.changes.empty()) apply_changes(spec, builder.cluster, diagnostics);
  add_common_transport(nodes, builder);
}

}  // namespace trainyard
