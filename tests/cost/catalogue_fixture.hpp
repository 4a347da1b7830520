// Devices and models as the catalogues have them.
#pragma once

#include <string>

#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"
#include "topologies/topologies.hpp"
#include "workloads/workloads.hpp"

namespace trainyard::fixture {

inline Cluster one_node(const std::string& gpu) {
  Diagnostics diagnostics;
  const ConfigValue section = read_yaml_text("nodes: [{name: n, gpu: " + gpu + ", gpus_per_node: 8, count: 1, nics: 8, nic: 200 Gbps}]", "test",
                                             diagnostics);
  Cluster cluster = build_cluster(section, ".", diagnostics);
  diagnostics.throw_if_any();
  return cluster;
}

inline Workload workload(const std::string& model, double sequence, const std::string& software, const std::string& precision = "fp16",
                         const std::string& method = "backprop") {
  Diagnostics diagnostics;
  const ConfigValue section = read_yaml_text("{model: " + model + ", sequence_length: " + std::to_string(int(sequence)) +
                                                 ", global_batch: 8, precision: " + precision + ", optimizer: adam, software: " + software + ", method: " + method + "}",
                                             "test", diagnostics);
  Workload built = build_workload(section, ".", diagnostics);
  diagnostics.throw_if_any();
  return built;
}

}  // namespace trainyard::fixture
