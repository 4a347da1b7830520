// The answer to one case, as every output format prints it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/step_report.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

enum class CaseStatus { ok, infeasible, error };

/// A simulated step, kept for traces.
struct StepTrace {
  TaskGraph graph;
  Timeline timeline;
};

struct RejectedPlan { std::string what, why; };

struct CaseResult {
  std::string scenario, variant, strategy;
  CaseStatus status = CaseStatus::ok;
  std::string reason;                    ///< unless ok
  bool user_error = false;               ///< the reason is a mistake in the input (exit status 2)
  std::string plan_json;                 ///< the long form as JSON text; "" unless there is a Plan
  std::string plan_line;                 ///< the Plan in one line
  StepReport step;                       ///< meaningful when ok, or infeasible with a memory report
  std::optional<Seconds> planner_estimate;
  std::vector<RejectedPlan> rejected;
  std::optional<StepTrace> trace;
  Seconds planner_wall{}, simulation_wall{};
};

}  // namespace trainyard
