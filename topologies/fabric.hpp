// What joins the nodes; private to this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/cluster_builder.hpp"

namespace trainyard {

enum class FabricKind { none, star, fat_tree };

struct FabricSpec {
  FabricKind kind = FabricKind::none;
  bool assumed = false;  ///< nothing was written and there are several nodes
  int leaf = 0;          ///< nodes under one leaf switch
  double oversubscription = 1;
  std::optional<Seconds> latency;  ///< of one link; absent: the transport's
  std::string transport;           ///< "": each node's own
};

/// Nothing if the section is wrong; `diagnostics` says how. An empty View: no section.
[[nodiscard]] std::optional<FabricSpec> fabric_spec(const View& section, Diagnostics& diagnostics);

/// NICs of one node, to be joined to the fabric.
struct Attachment {
  std::vector<VertexId> nics;
  LinkClass link;
};

/// Joins the nodes (in order; consecutive ones share a leaf) and writes Cluster::fabric.
void add_fabric(const FabricSpec& spec, std::vector<Attachment> nodes, ClusterBuilder& builder);

}  // namespace trainyard
