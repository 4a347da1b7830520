// Simulates Plans: check, lower, run in workers until the step repeats, report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/workers.hpp"
#include "sim/job/step_memory.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/model/case_result.hpp"
#include "sim/planning/strategy.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// One step of a Plan with the graph it was read from.
struct SimulatedStep {
  SimulationOutcome outcome;
  std::optional<StepTrace> trace;        ///< when asked for
};

class StepSimulator final : public Simulator {
 public:
  /// At most `jobs` simulations at a time.
  /// With a memory, a step that it knows is not simulated again (not for traces, nor where the cluster changes).
  StepSimulator(const Cluster& cluster, const Workload& workload, const LoweringOptions& options, const WorkerNursery& nursery, int jobs,
                StepMemory* memory = nullptr);

  [[nodiscard]] std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override;
  [[nodiscard]] SimulatedStep simulate_with_trace(const Plan& plan);

 private:
  [[nodiscard]] std::vector<SimulatedStep> run(std::span<const Plan> plans, bool keep_trace);
  const SimulationOutcome* remembered(const Lowered& lowered, std::uint64_t graph, SimulatedStep& step) const;
  [[nodiscard]] SimulationOutcome report(const Lowered& lowered, const Timeline& timeline) const;
  [[nodiscard]] std::optional<StepTrace> trace(const Lowered& lowered, const Timeline& timeline) const;

  const Cluster& cluster_;
  const Workload& workload_;
  LoweringOptions options_;
  const WorkerNursery& nursery_;
  int jobs_;
  StepMemory* memory_;
  Router router_;
};

}  // namespace trainyard
