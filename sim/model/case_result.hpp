// The answer to one case, as every output format prints it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/critical_path.hpp"
#include "sim/model/error_band.hpp"
#include "sim/model/job_report.hpp"
#include "sim/model/job_trace.hpp"
#include "sim/model/plan_traits.hpp"
#include "sim/model/replay_report.hpp"
#include "sim/model/sensitivity.hpp"
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

/// One of the other jobs that trained on the same fabric at the same time.
struct JobResult {
  std::string name, strategy;
  std::string plan_json, plan_line;      ///< as of a CaseResult
  StepReport step;                       ///< beside the others
  Seconds alone_step_time{};             ///< of a step with nobody beside it
};

struct CaseResult {
  std::string scenario, variant, strategy;
  CaseStatus status = CaseStatus::ok;
  std::string reason;                    ///< unless ok
  bool user_error = false;               ///< the reason is a mistake in the input (exit status 2)
  std::string plan_json;                 ///< the long form as JSON text; "" unless there is a Plan
  std::string plan_line;                 ///< the Plan in one line
  StepReport step;                       ///< meaningful when ok, or infeasible with a memory report
  Ground ground;                         ///< of the Plan, or of the cluster where there is none; empty names: not known
  std::optional<JobReport> job;          ///< over a horizon; `plan` and `step` are then those that trained longest
  std::optional<JobTrace> job_trace;     ///< over a horizon, where traces are kept
  std::optional<SeedSpread> seeds;       ///< over a horizon with several seeds; `job` is that of the first
  std::string recovery;                  ///< over a horizon: its name and options, in one line
  std::optional<Seconds> planner_estimate;
  std::vector<RejectedPlan> rejected;
  PlanTraits traits;                     ///< of the Plan
  std::vector<PathPart> critical_path;   ///< of `step`; empty over a horizon and with other jobs beside
  std::vector<ResourceGain> sensitivity; ///< when asked for
  std::optional<double> error_band;      ///< half width of what validation says of such steps, as a share of the step time
  std::optional<ErrorBand> error_band_from;  ///< the measured runs that say so; `error_band` is their `eight_of_ten`
  std::optional<bool> pareto_front;      ///< nothing compared with it is both faster and cheaper; absent: prices are not known, or nothing was compared
  std::optional<Seconds> alone_step_time;  ///< with other jobs: of a step with nobody beside it; `step` is beside them
  std::vector<JobResult> jobs;           ///< the others
  std::vector<std::string> remarks;      ///< of the planner
  bool planner_truncated = false;        ///< its budget ended before its search: the Plan is the best it had seen
  std::optional<ReplayReport> replay;    ///< of a trace; `step` then has times, tasks and price only
  std::optional<StepTrace> trace;
  Seconds planner_wall{}, simulation_wall{};
};

}  // namespace trainyard
