// Simulates Plans: check, lower, run in workers until the step repeats, report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/workers.hpp"
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
  StepSimulator(const Cluster& cluster, const Workload& workload, const LoweringOptions& options, const WorkerNursery& nursery, int jobs);

  [[nodiscard]] std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override;
  [[nodiscard]] SimulatedStep simulate_with_trace(const Plan& plan);

 private:
  [[nodiscard]] std::vector<SimulatedStep> run(std::span<const Plan> plans, bool keep_trace);
  [[nodiscard]] SimulationOutcome report(const Lowered& lowered, const Timeline& timeline) const;
  [[nodiscard]] std::optional<StepTrace> trace(const Lowered& lowered, const Timeline& timeline) const;

  const Cluster& cluster_;
  const Workload& workload_;
  LoweringOptions options_;
  const WorkerNursery& nursery_;
  int jobs_;
  Router router_;
};

}  // namespace trainyard
