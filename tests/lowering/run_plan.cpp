#include "tests/lowering/run_plan.hpp"

#include <cmath>

#include "sim/lowering/step_report.hpp"
#include "tests/reference/reference_executor.hpp"

namespace trainyard::toy {

RunResult run_plan(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options, int steps,
                   Executor* executor) {
  const Router router(cluster);
  RunResult result;
  result.lowered = lower(plan, workload, cluster, router, options);
  result.unrolled = unroll(result.lowered.graph, steps);
  ReferenceExecutor reference;
  RunOn controller;
  result.timeline = (executor ? *executor : reference).run(result.unrolled, result.lowered.events, controller);
  if (!result.timeline.halt.empty()) return result;
  const StepTimes times = step_times(result.lowered.graph, result.timeline);
  const std::optional<StepWindow> period = times.period();
  const StepWindow window = period ? *period : times.last(1);
  result.report = report_step(result.lowered, result.timeline, window, workload, cluster);
  return result;
}

bool near(Seconds a, Seconds b) { return std::abs(a.value - b.value) <= 1e-9 * std::abs(b.value); }

}  // namespace trainyard::toy
