// Small mixed clusters and what strategies make of them.
#pragma once

#include <string>

#include "sim/job/case.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/job/scenario_fixture.hpp"

namespace trainyard::fixture {

inline Scenario scenario_of(const std::string& nodes, const std::string& fabric, const std::string& strategies,
                            const std::string& model = "gpt2-xl", const std::string& workload = "sequence_length: 1024, global_batch: 192, precision: fp16") {
  return load_scenario_text("cluster: {nodes: [" + nodes + "], fabric: " + fabric + "}\nworkload: {model: " + model + ", " + workload +
                                ", optimizer: adam, software: megatron-core-2024}\nstrategies: [" + strategies + "]\n",
                            "test.yaml", ".");
}

/// One node of A100 and two of V100, so many GPUs each.
inline Scenario mixed(const std::string& strategies, const std::string& model = "gpt2-xl", int gpus = 2) {
  const std::string rest = std::to_string(gpus) + ", nics: 1, nic: 100 Gbps}";
  return scenario_of("{name: a, gpu: A100-SXM4-40GB, count: 1, gpus_per_node: " + rest + ", {name: v, gpu: V100-SXM2-16GB, count: 2, gpus_per_node: " + rest,
                     "{kind: star}", strategies, model);
}

inline CaseResult run_one(const Scenario& scenario) {
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(cases_of(scenario), {}, 1, nursery, nullptr).front();
}

}  // namespace trainyard::fixture
