#include "topologies/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard {
namespace {

void join_nics(const Attachment& node, VertexId to, ClusterBuilder& builder) {
  for (VertexId nic : node.nics) builder.join(nic, to, node.link);
}

void add_star(const std::vector<Attachment>& nodes, ClusterBuilder& builder) {
  const VertexId centre = builder.add_vertex("fabric.switch");
  for (const Attachment& node : nodes) join_nics(node, centre, builder);
}

/// One link for all parallel up-links of a leaf (equal-cost routing spreads over them): leaf · mean bandwidth of a
/// node's NICs / oversubscription. The mean is over the nodes present, since a switch has its up-links whether or not
/// it is full.
LinkClass up_link(const FabricSpec& spec, const Attachment* first, const Attachment* last) {
  LinkClass up = first->link;
  up.nominal = up.bandwidth = BytesPerSecond{};
  for (const Attachment* node = first; node != last; ++node) {
    up.nominal += node->link.nominal * static_cast<double>(node->nics.size());
    up.bandwidth += node->link.bandwidth * static_cast<double>(node->nics.size());
  }
  const double scale = spec.leaf / static_cast<double>(last - first) / spec.oversubscription;
  up.nominal *= scale;
  up.bandwidth *= scale;
  return up;
}

void add_fat_tree(const FabricSpec& spec, const std::vector<Attachment>& nodes, ClusterBuilder& builder) {
  const VertexId core = builder.add_vertex("fabric.core");
  const auto width = static_cast<std::size_t>(spec.leaf);
  for (std::size_t first = 0; first < nodes.size(); first += width) {
    const std::size_t last = std::min(first + width, nodes.size());
    const VertexId leaf = builder.add_vertex("fabric.leaf" + std::to_string(first / width));
    for (std::size_t i = first; i < last; ++i) join_nics(nodes[i], leaf, builder);
    const LinkClass up = up_link(spec, nodes.data() + first, nodes.data() + last);
    if (up.nominal.value > 0) builder.join(leaf, core, up);
  }
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string description(const FabricSpec& spec, std::size_t nodes) {
  if (spec.kind == FabricKind::none) return "none: one node";
  const std::string size = counted(nodes, "node", "nodes");
  if (spec.kind == FabricKind::star)
    return "star of " + size + (spec.assumed ? " (assumed: the cluster names no fabric)" : "");
  const auto width = static_cast<std::size_t>(spec.leaf);
  return fmt::format("fat tree of {}, {} under a leaf, {}, oversubscription {:g}", size, spec.leaf,
                     counted((nodes + width - 1) / width, "leaf", "leaves"), spec.oversubscription);
}

bool refuse(const View& where, std::string why, Diagnostics& diagnostics) {
  if (!where) return false;
  diagnostics.add(where.place(), std::move(why));
  return true;
}

std::optional<FabricKind> fabric_kind(const View& section, Diagnostics& diagnostics) {
  if (refuse(section["import"], "a fabric imported from a file is not simulated yet; star and fat_tree are",
             diagnostics))
    return std::nullopt;
  const View kind = section["kind"];
  if (!kind) {
    diagnostics.add(section.place(), "needs a kind: star or fat_tree");
    return std::nullopt;
  }
  if (kind.text() == "star") return FabricKind::star;
  if (kind.text() == "fat_tree") return FabricKind::fat_tree;
  diagnostics.add(kind.place(), "fabric kind \"" + kind.text() + "\" is not simulated yet; star and fat_tree are");
  return std::nullopt;
}

}  // namespace

std::optional<FabricSpec> fabric_spec(const View& section, Diagnostics& diagnostics) {
  FabricSpec spec;
  if (!section) return spec;
  const std::size_t before = diagnostics.all().size();
  const auto kind = fabric_kind(section, diagnostics);
  if (!kind) return std::nullopt;
  spec.kind = *kind;
  spec.leaf = static_cast<int>(section["leaf"].integer_or(0));
  spec.oversubscription = section["oversubscription"].number_or(1);
  if (const View latency = section["latency"]) spec.latency = latency.quantity<Seconds>();
  spec.transport = section["transport"].text_or("");
  if (spec.kind == FabricKind::fat_tree && spec.leaf == 0)
    diagnostics.add(section.place(), "fat_tree needs leaf: how many nodes are under one leaf switch");
  if (spec.kind == FabricKind::star)
    for (const char* key : {"leaf", "oversubscription"})
      refuse(section[key], std::string("a star has no ") + key, diagnostics);
  if (diagnostics.all().size() > before) return std::nullopt;
  return spec;
}

void add_fabric(const FabricSpec& spec, std::vector<Attachment> nodes, ClusterBuilder& builder) {
  if (spec.latency)
    for (Attachment& node : nodes) node.link.latency = *spec.latency;
  builder.cluster.fabric = description(spec, nodes.size());
  if (spec.kind == FabricKind::star) add_star(nodes, builder);
  if (spec.kind == FabricKind::fat_tree) add_fat_tree(spec, nodes, builder);
}

}  // namespace trainyard
