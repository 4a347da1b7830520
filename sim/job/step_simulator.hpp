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
  std::vector<PathPart> critical_path;   ///< when looked at closely; empty where there is no report
  std::optional<StepTrace> trace;        ///< when asked for
};

class StepSimulator final : public Simulator {
 public:
  /// At most `jobs` simulations at a time.
  /// With a memory, a step that it knows is not simulated again (not for traces, nor where the cluster changes).
  StepSimulator(const Cluster& cluster, const Workload& workload, const LoweringOptions& options, const WorkerNursery& nursery, int jobs,
                StepMemory* memory = nullptr);

  [[nodiscard]] std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override;
  /// With the critical path of what the report is about, and the trace if wanted.
  [[nodiscard]] SimulatedStep look_closely_at(const Plan& plan, bool keep_trace);

 private:
  enum class Look { report, closely, with_trace };

  [[nodiscard]] std::vector<SimulatedStep> run(std::span<const Plan> plans, Look look);
  const SimulationOutcome* remembered(const Lowered& lowered, std::uint64_t graph, SimulatedStep& step) const;
  [[nodiscard]] static std::vector<PathPart> path(const Lowered& lowered, const Timeline& timeline);
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
