// Lowers a Plan, runs it, and reads the report.
#pragma once

#include "sim/engine/executor.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/model/step_report.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard::toy {

struct RunResult {
  Lowered lowered;
  TaskGraph unrolled;
  Timeline timeline;
  StepReport report;
};

/// With the reference executor unless another is given; `steps` are unrolled, the last is reported; no report after a halt.
[[nodiscard]] RunResult run_plan(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options = {},
                                 int steps = 2, Executor* executor = nullptr);

/// |a / b - 1| <= 1e-9.
[[nodiscard]] bool near(Seconds a, Seconds b);

}  // namespace trainyard::toy
