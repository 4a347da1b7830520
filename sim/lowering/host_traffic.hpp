// Copies between devices and the memory of their hosts, and the hosts' own work on it, as communicators of one device.
#pragma once

#include "sim/lowering/traffic.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// The CPU device of a node; the Plan's check says that there is one.
[[nodiscard]] DeviceId host_of(const Cluster& cluster, NodeId node);

/// Adds for every device of a stage with a home on the host its way there, its way back, and its worker on the host: both directions of
/// the DRAM link next to it, at an even share of the node's cores (DeepSpeed, --bind_cores_to_rank).
void add_host_traffic(const Cluster& cluster, const Placement& placement, const Workload& workload, const Router& router, TrafficMap& traffic);

/// Devices of the same host that hold the same part of a layer as member `rank` of a cell, itself among them, in order of the cells:
/// states in host memory exist once for them.
struct Sharer {
  int cell = 0;
  DeviceId device{};
};
[[nodiscard]] std::vector<Sharer> sharers_of(const Cluster& cluster, const Placement& placement, int cell, std::size_t rank, LayerId layer);

}  // namespace trainyard
