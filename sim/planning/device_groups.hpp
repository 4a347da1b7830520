// Which GPUs planners treat as one: tensor groups inside a node, nodes of a kind, nodes on one fast network.
#pragma once

#include <span>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// Neighbouring GPUs of one node, of one type and speed, that share a tensor axis.
struct TensorUnit {
  std::vector<DeviceId> devices;
  NodeId node{};
  int kind = 0;                          ///< equal for units that work equally fast: same type, slowdown and group of nodes
};

/// Nodes with GPUs, in the cluster's order.
[[nodiscard]] std::vector<NodeId> nodes_with_gpus(const Cluster& cluster);
[[nodiscard]] std::vector<DeviceId> gpus_of(const Cluster& cluster, NodeId node);

/// Every node's GPUs in groups of `tensor`, in order; what is left over in a node works for nobody. Kinds are numbered in order of
/// first use over the whole cluster.
[[nodiscard]] std::vector<TensorUnit> tensor_units(const Cluster& cluster, std::span<const NodeId> nodes, int tensor);

/// Whether a tensor axis of this size cuts every layer: heads into equal parts, and no convolution.
[[nodiscard]] bool divides_heads(const Module& module, int tensor);

/// Powers of two up to the smallest node's GPUs (of those nodes) that divide the model's heads.
[[nodiscard]] std::vector<int> tensor_sizes(const Cluster& cluster, std::span<const NodeId> nodes, const Workload& workload);

/// Nodes that exchange memory directly over one network: equal families of cards, no wide-area way between, and a rate between any two
/// of at least half of the fastest between two nodes of the island. In order of first nodes.
[[nodiscard]] std::vector<std::vector<NodeId>> islands(const Cluster& cluster, const Router& router, std::span<const NodeId> nodes);

/// Nodes by the type (and slowdown) of their GPUs, in order of first nodes.
[[nodiscard]] std::vector<std::vector<NodeId>> nodes_by_kind(const Cluster& cluster, std::span<const NodeId> nodes);

}  // namespace trainyard
