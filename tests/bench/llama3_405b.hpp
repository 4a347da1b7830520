// Llama-3 405B with tensor 8 in a node, 16 stages and 16 micro-batches a data rank, on any multiple of 128 H100.
#pragma once

#include <fmt/format.h>

#include <string>

#include "sim/planning/registry.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"

namespace trainyard::bench {

inline std::string llama3_405b(int gpus) {
  return fmt::format(
      "cluster:\n"
      "  nodes: [{{name: h100, gpu: H100-SXM5-80GB, gpus_per_node: 8, count: {}, nics: 8, nic: 400 Gbps}}]\n"
      "  fabric: {{kind: fat_tree, leaf: 32}}\n"
      "workload: {{model: llama-3-405b, sequence_length: 8192, global_batch: {}, precision: bf16, optimizer: adam,"
      " software: megatron-core-2024}}\n"
      "strategies:\n"
      "  - {{fixed: {{tensor: 8, pipeline: 16, data: {}, micro_batch: 1, recompute: full, layers: "
      "[7,8,8,8,8,8,8,8,8,8,8,8,8,8,8,7]}}}}\n",
      gpus / 8, gpus / 8, gpus / 128);
}

/// With its Plan, which needs no simulation.
struct Planned405b {
  explicit Planned405b(int gpus) : scenario(load_scenario_text(llama3_405b(gpus), "scale.yaml", ".")) {
    struct NoSimulator final : Simulator {
      std::vector<SimulationOutcome> simulate(std::span<const Plan>) override {
        throw InternalError("a written Plan was to be simulated");
      }
    } simulator;
    Diagnostics diagnostics;
    const StrategyChoice& choice = scenario.strategies.front();
    const auto strategy =
        StrategyRegistry::instance().find(choice.name)->make({View(choice.options), "."}, diagnostics);
    const Variant& variant = scenario.variants.front();
    plan = std::get<Planned>(strategy->plan({variant.cluster, variant.workload, simulator})).plan;
  }
  Scenario scenario;
  Plan plan;
};

}  // namespace trainyard::bench
