#include "sim/job/case.hpp"

#include <chrono>

#include <fmt/format.h>

#include "sim/cost/memory.hpp"
#include "sim/job/beside.hpp"
#include "sim/job/case_setting.hpp"
#include "sim/job/error_bands.hpp"
#include "sim/job/long_job.hpp"
#include "sim/job/replay_case.hpp"
#include "sim/job/sensitivity.hpp"
#include "sim/job/step_memory.hpp"
#include "sim/job/step_simulator.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/plan_traits.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

class Stopwatch {
 public:
  [[nodiscard]] Seconds lap() {
    const auto now = std::chrono::steady_clock::now();
    const Seconds passed(std::chrono::duration<double>(now - start_).count());
    start_ = now;
    return passed;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void keep_rejected(const std::vector<Rejected>& rejected, CaseResult& result) {
  for (const Rejected& plan : rejected) result.rejected.push_back({plan.what, plan.why});
}

void refuse(CaseResult& result, const Infeasible& why) {
  result.status = CaseStatus::infeasible;
  result.reason = why.why;
  if (why.memory) result.step.memory = *why.memory;
  keep_rejected(why.rejected, result);
}

void simulate(const Planned& planned, StepSimulator& simulator, const CaseOptions& options, CaseResult& result) {
  SimulatedStep step = simulator.look_closely_at(planned.plan, options.keep_trace);
  if (const auto* error = std::get_if<SimulationError>(&step.outcome)) {
    result.status = CaseStatus::error;
    result.reason = error->why;
    return;
  }
  result.step = std::get<StepReport>(step.outcome);
  result.critical_path = std::move(step.critical_path);
  result.trace = std::move(step.trace);
  if (result.step.memory.fits()) return;
  result.status = CaseStatus::infeasible;
  result.reason = shortfall_text(result.step.memory);
}

void plan_and_simulate(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, CaseResult& result) {
  const auto strategy = make_strategy(which);
  if (std::string label = strategy->label(); !label.empty()) result.strategy = std::move(label);
  StepSimulator simulator(*which.cluster, *which.workload, lowering_options(which, options), nursery, options.jobs);
  Stopwatch watch;
  const PlanOrInfeasible answer = strategy->plan({*which.cluster, *which.workload, simulator, which.seed});
  result.planner_wall = watch.lap();
  if (const auto* infeasible = std::get_if<Infeasible>(&answer)) return refuse(result, *infeasible);
  const Planned& planned = std::get<Planned>(answer);
  result.plan_json = to_json(describe(planned.plan, *which.cluster, *which.workload));
  result.plan_line = one_line(planned.plan, *which.cluster, *which.workload);
  result.traits = traits_of(planned.plan, *which.cluster, *which.workload);
  result.planner_estimate = planned.estimated_step_time;
  result.ground = ground_of(planned.plan, *which.cluster, *which.workload);
  keep_rejected(planned.rejected, result);
  result.remarks = planned.remarks;
  result.planner_truncated = planned.truncated;
  if (const auto wrong = planned.plan.check(*which.cluster, *which.workload); !wrong.empty())
    throw UserError(fmt::format("{}", fmt::join(wrong, "; ")));
  simulate(planned, simulator, options, result);
  if (!which.beside.empty() && result.status == CaseStatus::ok) {
    simulate_beside(which, planned.plan, options, nursery, result);
    result.critical_path.clear();        // it was that of a step with nobody beside it
  }
  if (options.sensitivity && result.status == CaseStatus::ok)
    result.sensitivity = sensitivity_of(which, planned.plan, result.step, options, nursery);
  result.simulation_wall = watch.lap();
}

/// Planning and simulation take turns: their wall time is told as one.
void run_long_timed(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, JobMemory* memory, CaseResult& result) {
  Stopwatch watch;
  JobMemory own;
  run_long_case(which, options, nursery, memory != nullptr ? *memory : own, result);
  result.simulation_wall = watch.lap();
}

}  // namespace

bool share_memory(const Case& a, const Case& b) {
  const auto same_options = [&] { return a.options == b.options || (a.options != nullptr && b.options != nullptr && a.options->same_content(*b.options)); };
  return a.long_case && b.long_case && a.cluster == b.cluster && a.workload == b.workload && a.long_case->market == b.long_case->market &&
         a.strategy == b.strategy && a.directory == b.directory && a.seed == b.seed && a.jitter == b.jitter && same_options();
}

CaseResult run_case(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, JobMemory* memory) {
  CaseResult result;
  result.scenario = which.scenario;
  result.variant = which.variant;
  result.strategy = which.strategy;
  try {
    if (which.replay != nullptr) {
      run_replay(which, options, nursery, result);
      return result;
    }
    result.ground = ground_of(*which.cluster, *which.workload);
    which.long_case ? run_long_timed(which, options, nursery, memory, result) : plan_and_simulate(which, options, nursery, result);
  } catch (const UserError& error) {
    result.status = CaseStatus::error;
    result.user_error = true;
    result.reason = error.what();
  } catch (const std::exception& error) {
    result.status = CaseStatus::error;
    result.reason = error.what();
  }
  if (result.status == CaseStatus::ok) result.error_band_from = nearest_band(error_bands(), result.ground);
  if (result.error_band_from) result.error_band = result.error_band_from->eight_of_ten;
  return result;
}

}  // namespace trainyard
