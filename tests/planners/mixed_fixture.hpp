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

/// One node of four A100 and two of four V100.
inline Scenario mixed(const std::string& strategies, const std::string& model = "gpt2-xl") {
  return scenario_of(
      "{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 4, count: 1, nics: 1, nic: 100 Gbps}, "
      "{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 4, count: 2, nics: 1, nic: 100 Gbps}",
      "{kind: star}", strategies, model);
}

inline CaseResult run_one(const Scenario& scenario) {
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(cases_of(scenario), {}, 1, nursery, nullptr).front();
}

}  // namespace trainyard::fixture
