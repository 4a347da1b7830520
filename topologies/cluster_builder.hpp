// Vertices, links and devices of a cluster as they are added; private to this folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topologies/node_spec.hpp"

namespace trainyard {

/// How many there will be: vectors are reserved once.
struct ClusterSize {
  std::size_t nodes = 0, devices = 0, vertices = 0, links = 0;
};

class ClusterBuilder {
 public:
  explicit ClusterBuilder(const ClusterSize& size);

  [[nodiscard]] VertexId add_vertex(std::string name);
  /// A device with a vertex of its own, of node `node`.
  DeviceId add_device(std::string name, DeviceKind kind, DeviceTypeId type, NodeId node);
  [[nodiscard]] DeviceTypeId add_type(const DeviceType& type);  ///< one entry for each name
  /// A link each way. `suffix` tells parallel links apart.
  void join(VertexId a, VertexId b, const LinkClass& kind, const std::string& suffix = "");
  /// One way only.
  void add_link(VertexId from, VertexId to, const LinkClass& kind, const std::string& suffix = "");
  /// Makes the transport known before a link has it.
  TransportId transport_id(const Transport& transport);
  /// The switch that an NVLink domain of several nodes hangs on; made at the first call.
  [[nodiscard]] VertexId domain(const std::string& name);
  [[nodiscard]] VertexId vertex_of(DeviceId device) const { return cluster.devices[index(device)].vertex; }

  Cluster cluster;

 private:
  std::map<std::string, VertexId> domains_;
};

/// Adds node number `number` of a group; returns it.
NodeId add_node(const NodeSpec& spec, int number, ClusterBuilder& builder);

/// What add_node adds, for reserving.
[[nodiscard]] ClusterSize size_of_node(const NodeSpec& spec);

/// Pairs of GPUs of an NVLink2 mesh and how many links join them: DGX-1V's hybrid cube mesh for 8, one of its quads
/// for 4.
struct MeshPair {
  int a = 0, b = 0, links = 0;
};
[[nodiscard]] std::vector<MeshPair> mesh_pairs(int gpus);

}  // namespace trainyard
