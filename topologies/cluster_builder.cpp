#include "topologies/cluster_builder.hpp"

#include <algorithm>

namespace trainyard {

ClusterBuilder::ClusterBuilder(const ClusterSize& size) {
  cluster.nodes.reserve(size.nodes);
  cluster.devices.reserve(size.devices);
  cluster.vertices.reserve(size.vertices);
  cluster.links.reserve(size.links);
}

VertexId ClusterBuilder::add_vertex(std::string name) {
  cluster.vertices.push_back(std::move(name));
  return id_at<VertexId>(cluster.vertices.size() - 1);
}

DeviceId ClusterBuilder::add_device(std::string name, DeviceKind kind, DeviceTypeId type, NodeId node) {
  const VertexId vertex = add_vertex(name);
  const Bytes memory = cluster.device_types[index(type)].memory;
  cluster.devices.push_back({std::move(name), kind, type, node, memory, vertex});
  const DeviceId id = id_at<DeviceId>(cluster.devices.size() - 1);
  cluster.nodes[index(node)].devices.push_back(id);
  return id;
}

DeviceTypeId ClusterBuilder::add_type(const DeviceType& type) {
  auto& types = cluster.device_types;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i].name == type.name) return id_at<DeviceTypeId>(i);
  types.push_back(type);
  return id_at<DeviceTypeId>(types.size() - 1);
}

TransportId ClusterBuilder::transport_id(const Transport& transport) {
  auto& transports = cluster.transports;
  for (std::size_t i = 0; i < transports.size(); ++i)
    if (transports[i].name == transport.name) return id_at<TransportId>(i);
  transports.push_back(transport);
  return id_at<TransportId>(transports.size() - 1);
}

VertexId ClusterBuilder::domain(const std::string& name) {
  const auto known = domains_.find(name);
  return known != domains_.end() ? known->second : domains_.emplace(name, add_vertex(name)).first->second;
}

void ClusterBuilder::join(VertexId a, VertexId b, const LinkClass& kind, const std::string& suffix) {
  add_link(a, b, kind, suffix);
  add_link(b, a, kind, suffix);
}

// A link has a name of its own only where its ends do not tell it apart.
void ClusterBuilder::add_link(VertexId from, VertexId to, const LinkClass& kind, const std::string& suffix) {
  const TransportId transport = transport_id(kind.transport);
  Link& link = cluster.links.emplace_back();
  if (!suffix.empty()) link.name = cluster.vertices[index(from)] + ">" + cluster.vertices[index(to)] + suffix;
  link.from = from;
  link.to = to;
  link.bandwidth = kind.bandwidth;
  link.nominal = kind.nominal;
  link.latency = kind.latency;
  link.transport = transport;
}

}  // namespace trainyard
