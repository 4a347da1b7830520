#include "sim/routing/islands.hpp"

#include <boost/pending/disjoint_sets.hpp>
#include <cstdint>
#include <numeric>

namespace trainyard {
namespace {

/// [vertex]: the node of its GPU, or -1.
std::vector<std::int32_t> gpu_nodes(const Cluster& cluster) {
  std::vector<std::int32_t> nodes(cluster.vertices.size(), -1);
  for (const Device& device : cluster.devices)
    if (device.kind == DeviceKind::gpu) nodes[index(device.vertex)] = static_cast<std::int32_t>(device.node);
  return nodes;
}

std::vector<bool> device_vertices(const Cluster& cluster) {
  std::vector<bool> found(cluster.vertices.size(), false);
  for (const Device& device : cluster.devices) found[index(device.vertex)] = true;
  return found;
}

}  // namespace

std::vector<NodeId> nvlink_islands(const Cluster& cluster) {
  const std::vector<std::int32_t> node_of = gpu_nodes(cluster);
  const std::vector<bool> device_at = device_vertices(cluster);
  std::vector<std::int32_t> rank(cluster.nodes.size(), 0), parent(cluster.nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  boost::disjoint_sets<std::int32_t*, std::int32_t*> sets(rank.data(), parent.data());
  std::vector<std::int32_t> first(cluster.vertices.size(), -1);
  for (const Link& link : cluster.links) {
    const std::int32_t node = node_of[index(link.from)];
    if (node < 0 || device_at[index(link.to)]) continue;
    std::int32_t& other = first[index(link.to)];
    if (other < 0) other = node;
    if (other != node) sets.union_set(other, node);
  }
  std::vector<std::int32_t> lowest(cluster.nodes.size(), -1);
  std::vector<NodeId> islands;
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    std::int32_t& found = lowest[static_cast<std::size_t>(sets.find_set(static_cast<std::int32_t>(n)))];
    if (found < 0) found = static_cast<std::int32_t>(n);
    islands.push_back(NodeId{found});
  }
  return islands;
}

}  // namespace trainyard
