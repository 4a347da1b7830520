// Clusters and workloads as people read them.
#pragma once

#include <string>

#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// "2 x aws.p4d.24xlarge (16 A100-SXM4-40GB) + 4 x v100 (32 V100-SXM2-16GB)".
[[nodiscard]] std::string one_line(const Cluster& cluster);
/// "llama-2-13b · sequence 4,096 · global batch 512 · fp16".
[[nodiscard]] std::string one_line(const Workload& workload);

/// Several lines: node groups with their devices, prices and where those were read; the fabric; links by kind.
[[nodiscard]] std::string description(const Cluster& cluster);
/// Several lines: layers, parameters, FLOPs a token and a step, optimizer, software switches.
[[nodiscard]] std::string description(const Workload& workload);

/// Two lines: the switches that are on, and those that are off.
[[nodiscard]] std::string switches_text(const Software& software);

}  // namespace trainyard
