#include "topologies/topologies.hpp"

#include <map>

#include "sim/config/view.hpp"
#include "topologies/calibration.hpp"
#include "topologies/cluster_troubles.hpp"
#include "topologies/fabric.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kMostGpus = 1 << 18;

std::vector<NodeSpec> node_specs(const View& list, const std::string& fabric_transport, const std::string& directory,
                                 Diagnostics& diagnostics) {
  std::vector<NodeSpec> specs;
  std::map<std::string, int> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const View item = list.at(i);
    if (++names[item["name"].text()] == 2)
      diagnostics.add(item["name"].place(), "another group is named \"" + item["name"].text() + "\" already");
    if (auto spec = node_spec(item, fabric_transport, directory, diagnostics)) specs.push_back(*std::move(spec));
  }
  return specs;
}

void check_size(const std::vector<NodeSpec>& specs, const View& list, Diagnostics& diagnostics) {
  std::int64_t gpus = 0;
  for (const NodeSpec& spec : specs) gpus += std::int64_t{spec.count} * spec.gpus;
  if (gpus == 0) diagnostics.add(list.place(), "there are no nodes: every count is 0");
  if (gpus > kMostGpus)
    diagnostics.add(list.place(),
                    std::to_string(gpus) + " GPUs; at most " + std::to_string(kMostGpus) + " are simulated");
}

/// Several nodes talk through NICs.
void check_nics(const std::vector<NodeSpec>& specs, const View& list, Diagnostics& diagnostics) {
  int nodes = 0;
  for (const NodeSpec& spec : specs) nodes += spec.count;
  for (std::size_t i = 0; i < specs.size() && nodes > 1; ++i)
    if (specs[i].count > 0 && specs[i].nics == 0)
      diagnostics.add(list.at(i).place(), "needs nics and nic: the cluster has " + std::to_string(nodes) + " nodes");
}

ClusterSize total_size(const std::vector<NodeSpec>& specs) {
  ClusterSize total;
  for (const NodeSpec& spec : specs) {
    const ClusterSize one = size_of_node(spec);
    const auto count = static_cast<std::size_t>(spec.count);
    total.nodes += count;
    total.devices += count * one.devices;
    total.vertices += count * (one.vertices + 1) + 1;
    total.links += count * (one.links + 2);
  }
  return total;
}

Attachment attachment_of(const Node& node, const NodeSpec& spec, const Cluster& cluster) {
  Attachment made;
  made.link = spec.nic;
  made.region = spec.region;
  for (DeviceId device : node.devices)
    if (cluster.devices[index(device)].kind == DeviceKind::nic)
      made.nics.push_back(cluster.devices[index(device)].vertex);
  return made;
}

Cluster built(const std::vector<NodeSpec>& specs, FabricSpec fabric, Diagnostics& diagnostics) {
  ClusterBuilder builder(total_size(specs));
  std::vector<Attachment> attachments;
  for (const NodeSpec& spec : specs)
    for (int number = 0; number < spec.count; ++number) {
      const NodeId node = add_node(spec, number, builder);
      attachments.push_back(attachment_of(builder.cluster.nodes[index(node)], spec, builder.cluster));
    }
  if (fabric.kind == FabricKind::none && attachments.size() > 1) {
    fabric.kind = FabricKind::star;
    fabric.assumed = true;
  }
  add_fabric(fabric, std::move(attachments), builder, diagnostics);
  return std::move(builder.cluster);
}

}  // namespace

Cluster build_cluster(const ConfigValue& section, const std::string& directory, Diagnostics& diagnostics) {
  const View root(section);
  const std::size_t before = diagnostics.all().size();
  const auto fabric = fabric_spec(root["fabric"], directory, diagnostics);
  const auto specs = node_specs(root["nodes"], fabric ? fabric->transport : "", directory, diagnostics);
  if (diagnostics.all().size() == before) {
    check_size(specs, root["nodes"], diagnostics);
    check_nics(specs, root["nodes"], diagnostics);
  }
  if (diagnostics.all().size() > before) return {};
  Cluster cluster = built(specs, *fabric, diagnostics);
  if (diagnostics.all().size() == before) apply_troubles(root, cluster, diagnostics);
  if (diagnostics.all().size() == before) apply_calibration(root["calibration"], cluster, diagnostics);
  if (diagnostics.all().size() > before) return {};
  return cluster;
}

}  // namespace trainyard
