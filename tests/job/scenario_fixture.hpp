// A small scenario and its cases.
#pragma once

#include <string>
#include <vector>

#include "sim/job/case.hpp"
#include "sim/scenario/scenario.hpp"

namespace trainyard::fixture {

/// Llama-2 7B on two nodes of 8 A100 unless `workload` says otherwise.
inline Scenario scenario(const std::string& strategies, const std::string& model = "llama-2-7b", int nodes = 2) {
  return load_scenario_text("cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: " + std::to_string(nodes) +
                                ", nics: 8, nic: 200 Gbps, price: 30 USD/h}], fabric: {kind: star}}\n"
                                "workload: {model: " + model +
                                ", sequence_length: 4096, global_batch: 64, precision: bf16, optimizer: adam, software: megatron-core-2024}\n"
                                "strategies: [" + strategies + "]\n",
                            "test.yaml", ".");
}

inline std::vector<Case> cases_of(const Scenario& scenario) {
  std::vector<Case> cases;
  for (const StrategyChoice& choice : scenario.strategies)
    cases.push_back({"test", "", choice.name, &scenario.variants[0].cluster, &scenario.variants[0].workload, &choice.options, ".", 1});
  return cases;
}

}  // namespace trainyard::fixture
