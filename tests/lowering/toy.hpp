// Clusters and workloads small enough to work out by hand.
#pragma once

#include <string>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard::toy {

/// Links without latency or ramp; a GPU moves 1 TB/s of memory traffic at efficiency 1 and launches for nothing.
struct ClusterShape {
  int nodes = 1, gpus = 1;
  BytesPerSecond inside{100e9}, nic{10e9};
  Seconds hop_latency{};
  int slow_nodes = 0;                    ///< the last ones have GPUs of half the speed
  int nodes_per_leaf = 0;                ///< 0: all on one switch
  double oversubscription = 1;
  int gpus_per_switch = 0;               ///< of the PCIe tree to the host; 0: no host
  BytesPerSecond pcie{10e9}, dram{100e9};
  int cores = 1000;                      ///< of the host
  Bytes host_memory{1e12};
};
[[nodiscard]] Cluster make_cluster(const ClusterShape& shape);

/// `layers` equal layers of one memory-bound operator (1 ms forward, 2 ms backward a sample at full speed), with optional
/// parameters and activations; no embedding, head, dropout, optimizer or clipping.
struct WorkloadShape {
  int layers = 4;
  double batch = 8;
  double parameters = 0;                 ///< a layer
  Bytes output{};                        ///< a sample
  Bytes saved{};                         ///< a sample and layer
  bool tensor_cut = false;               ///< a pair of column- and row-cut operators instead
  bool attention = false;                ///< keys and values of 16 MB a sample, which a context axis exchanges
  bool product = false;                  ///< one matrix product instead: forward, input and weight gradients take equally long
};
[[nodiscard]] Workload make_workload(const WorkloadShape& shape);

/// `stages` equal stages over the cluster's GPUs in order, each [data, context, tensor]; for dualpipe in both directions, with
/// `micro_batches` in each.
struct PlanShape {
  int stages = 1, data = 1, tensor = 1, micro_batches = 1, chunks = 1, context = 1;
  std::string schedule = "1f1b";
  RecomputeKind recompute = RecomputeKind::none;
  std::vector<int> layers{};             ///< a stage; empty: even, chunks round after round
};
[[nodiscard]] Plan make_plan(const PlanShape& shape, const Cluster& cluster, const Workload& workload);

}  // namespace trainyard::toy
