// A small scenario that loads; tests add to it.
#pragma once

#include <string>

#include "sim/scenario/scenario.hpp"

namespace trainyard {

inline const std::string kBase = R"(cluster:
  nodes:
    - {name: fast, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 2, nics: 8, nic: 200 Gbps, price: 20 USD/h}
    - {name: slow, gpu: V100-SXM2-32GB, gpus_per_node: 4, count: 1, nics: 1, nic: 100 Gbps}
workload: {model: llama-2-7b, sequence_length: 4096, global_batch: 64, precision: fp16, optimizer: adam, software: megatron-core-2024}
)";

inline Scenario load(const std::string& text) { return load_scenario_text(text, "test.yaml", "."); }

}  // namespace trainyard
