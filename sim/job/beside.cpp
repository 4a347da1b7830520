#include "sim/job/beside.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

#include "sim/cost/memory.hpp"
#include "sim/job/case_setting.hpp"
#include "sim/job/shared_fabric.hpp"
#include "sim/job/step_simulator.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// A job with its Plan and its step alone.
struct PlannedJob {
  std::string strategy;
  Plan plan;
  StepReport alone;
};

struct Refusal {
  CaseStatus status = CaseStatus::error;
  std::string why;
};

using PlannedOrRefusal = std::variant<PlannedJob, Refusal>;

PlannedOrRefusal plan_alone(const Case& job, const CaseOptions& options, const WorkerNursery& nursery) {
  StepSimulator simulator(*job.cluster, *job.workload, lowering_options(job, options), nursery, options.jobs);
  const auto strategy = make_strategy(job);
  const PlanOrInfeasible answer = strategy->plan({*job.cluster, *job.workload, simulator, job.seed});
  if (const auto* infeasible = std::get_if<Infeasible>(&answer)) return Refusal{CaseStatus::infeasible, infeasible->why};
  const Plan& plan = std::get<Planned>(answer).plan;
  if (const auto wrong = plan.check(*job.cluster, *job.workload); !wrong.empty())
    throw UserError(fmt::format("job {}: {}", job.job, fmt::join(wrong, "; ")));
  const SimulationOutcome outcome = simulator.simulate(std::span(&plan, 1)).front();
  if (const auto* error = std::get_if<SimulationError>(&outcome)) return Refusal{CaseStatus::error, error->why};
  const StepReport& report = std::get<StepReport>(outcome);
  if (!report.memory.fits()) return Refusal{CaseStatus::infeasible, shortfall_text(report.memory)};
  return PlannedJob{strategy->label().empty() ? job.strategy : strategy->label(), plan, report};
}

void refuse(const Case& job, const Refusal& refusal, CaseResult& result) {
  result.status = refusal.status;
  result.reason = fmt::format("job {}: {}", job.job, refusal.why);
}

JobResult result_of(const Case& job, const PlannedJob& planned, const StepReport& beside) {
  return {job.job,
          planned.strategy,
          to_json(describe(planned.plan, *job.cluster, *job.workload)),
          one_line(planned.plan, *job.cluster, *job.workload),
          beside,
          planned.alone.step_time};
}

}  // namespace

void simulate_beside(const Case& which, const Plan& plan, const CaseOptions& options, const WorkerNursery& nursery, CaseResult& result) {
  std::vector<PlannedJob> others;
  for (const Case& job : which.beside) {
    PlannedOrRefusal planned = plan_alone(job, options, nursery);
    if (const auto* refusal = std::get_if<Refusal>(&planned)) return refuse(job, *refusal, result);
    others.push_back(std::move(std::get<PlannedJob>(planned)));
  }
  std::vector<RunningJob> jobs{{&plan, which.share, which.workload, result.step.step_time}};
  for (std::size_t i = 0; i < others.size(); ++i) jobs.push_back({&others[i].plan, which.beside[i].share, which.beside[i].workload, others[i].alone.step_time});
  SharedOutcome outcome = simulate_together(jobs, lowering_options(which, options), nursery);
  if (const auto* error = std::get_if<SimulationError>(&outcome)) {
    result.status = CaseStatus::error;
    result.reason = "beside the other jobs: " + error->why;
    return;
  }
  auto& [reports, trace] = std::get<Together>(outcome);
  result.alone_step_time = result.step.step_time;
  result.step = reports.front();
  if (options.keep_trace) result.trace = std::move(trace);
  for (std::size_t i = 0; i < others.size(); ++i) result.jobs.push_back(result_of(which.beside[i], others[i], reports[i + 1]));
}

}  // namespace trainyard
