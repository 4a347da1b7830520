// What joins the nodes; private to this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topologies/cluster_builder.hpp"

namespace trainyard {

/// matrix: every two nodes have links of their own, of measured rates. listed: every link is written out.
enum class FabricKind { none, star, fat_tree, rail, rail_only, dragonfly, torus, regions, matrix, listed };

/// Both regions' names in alphabetical order -> rate and latency between them, each way.
struct WideArea {
  BytesPerSecond rate{};
  Seconds latency{};
};
using RegionPair = std::pair<std::string, std::string>;

/// A link of the finished cluster whose rate was measured.
struct MeasuredLink {
  std::string link;
  BytesPerSecond rate{};
  std::optional<Seconds> latency;
  SourcePlace place;
};

/// A link of the finished cluster whose bandwidth is multiplied by a factor from some time on.
struct TimedChange {
  std::string link, back;  ///< names without the number of parallel ones; back: the other direction, or ""
  Seconds at{};
  double factor = 1;
  SourcePlace place;
};

struct FabricSpec {
  FabricKind kind = FabricKind::none;
  std::string name;      ///< of a ready-made fabric, else ""
  bool assumed = false;  ///< nothing was written and there are several nodes
  int leaf = 0;          ///< nodes under one leaf switch (fat_tree, rail, regions; 0: all), on one router (dragonfly)
  double oversubscription = 1;
  int pod_leaves = 0;  ///< fat_tree: leaf switches of one pod; 0: two tiers
  double pod_oversubscription = 1;
  int group = 0;           ///< dragonfly: routers of one group
  std::vector<int> shape;  ///< torus
  bool wrap = true;
  std::optional<BytesPerSecond> rate, global_rate;  ///< nominal, of a link between switches (dragonfly, torus)
  std::map<RegionPair, WideArea> wide_area;
  std::optional<WideArea> wide_area_default;
  bool per_node = false;  ///< each node has the wide-area rate for itself
  std::vector<ListedLink> listed;
  std::vector<std::vector<double>> matrix;  ///< [from node][to node], bytes/s
  std::vector<MeasuredLink> measured;
  std::vector<TimedChange> changes;
  std::optional<Seconds> latency;  ///< of one link; absent: the transport's
  std::string transport;           ///< "": each node's own
  SourcePlace place;
};

/// Of `fabric:`. `ready_made`: further words for `kind`.
[[nodiscard]] Schema fabric_schema(const std::vector<std::string>& ready_made);
[[nodiscard]] Schema transport_schema();

/// Nothing if the section is wrong; `diagnostics` says how. An empty View: no section. `directory`: where FILEs are
/// looked up.
[[nodiscard]] std::optional<FabricSpec> fabric_spec(const View& section, const std::string& directory,
                                                    Diagnostics& diagnostics);

/// Fabrics that have a name: fabrics.yaml.
[[nodiscard]] std::vector<std::string> ready_made_names();
/// The keys of one; null where there is none.
[[nodiscard]] const ConfigValue* ready_made(const std::string& name);

/// NICs of one node, to be joined to the fabric.
struct Attachment {
  std::vector<VertexId> nics;
  LinkClass link;
  std::string region;
  /// Of all NICs together.
  [[nodiscard]] LinkClass whole() const;
};
using Attachments = std::vector<Attachment>;

/// Joins the nodes (in order; consecutive ones share a leaf) and writes Cluster::fabric. What the nodes contradict goes
/// to `diagnostics`.
void add_fabric(const FabricSpec& spec, Attachments nodes, ClusterBuilder& builder, Diagnostics& diagnostics);

/// One line, for people.
[[nodiscard]] std::string fabric_text(const FabricSpec& spec, std::size_t nodes);

void join_nics(const Attachment& node, VertexId to, ClusterBuilder& builder);
void add_star(const Attachment* first, const Attachment* last, VertexId centre, ClusterBuilder& builder);
/// Leaves below `core`, named `prefix`leafN.
void add_leaves(const FabricSpec& spec, const Attachment* first, const Attachment* last, VertexId core,
                const std::string& prefix, ClusterBuilder& builder);
void add_rails(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder);
void add_torus(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder, Diagnostics& diagnostics);
void add_dragonfly(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder);
void add_regions(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder, Diagnostics& diagnostics);
void add_matrix(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder, Diagnostics& diagnostics);
void add_listed(const FabricSpec& spec, ClusterBuilder& builder, Diagnostics& diagnostics);
void apply_measured(const FabricSpec& spec, ClusterBuilder& builder, Diagnostics& diagnostics);
/// Changes from the start change the link, later ones become events of the cluster.
void apply_changes(const FabricSpec& spec, Cluster& cluster, Diagnostics& diagnostics);

}  // namespace trainyard
