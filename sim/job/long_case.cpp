#include <fmt/format.h>

#include <algorithm>

#include "sim/job/case_setting.hpp"
#include "sim/job/long_job.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// `name` or `name (key value, ..)`, as written.
std::string text_of(const ConfigValue& value) {
  if (value.kind != ConfigValue::Kind::list) return value.scalar;
  std::string all;
  for (const ConfigValue& item : value.items) all += (all.empty() ? "" : " and ") + item.scalar;
  return all;
}

std::string text_of(const std::string& name, const RecoveryChoice& choice) {
  std::string options;
  for (std::size_t i = 0; i < choice.options.keys.size(); ++i)
    options += fmt::format("{}{} {}", i > 0 ? ", " : "", choice.options.keys[i].first, text_of(choice.options.items[i]));
  return options.empty() ? name : fmt::format("{} ({})", name, options);
}

const char* in_market(MarketKind market) { return market == MarketKind::reserved ? ", reserved nodes" : ", nodes on demand"; }

/// The Plan that trained longest stands for all in the columns of a step.
void show_longest(const Case& which, const PlannedWorld& world, CaseResult& result) {
  const int id = result.job->longest_plan;
  if (id < 0) return;
  const Cluster cluster = world.cluster_of(id);
  const Planned& planned = world.planned(id);
  result.plan_json = to_json(describe(planned.plan, cluster, *which.workload));
  result.plan_line = one_line(planned.plan, cluster, *which.workload);
  result.planner_estimate = planned.estimated_step_time;
  result.planner_truncated = planned.truncated;
  result.step = world.step(id);
}

}  // namespace

void run_long_case(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, JobMemory& memory, CaseResult& result) {
  const LongCase& job = *which.long_case;
  if (!which.cluster->events.empty()) throw UserError("changes of links and devices at stated times are for single steps, not for jobs over a horizon");
  const auto strategy = make_strategy(which);
  if (std::string label = strategy->label(); !label.empty()) result.strategy = std::move(label);
  const std::string recovery_name = name_of(job.recovery, *job.market);
  const auto recovery = make_recovery(job.recovery, *job.market);
  const Cluster& held = job.held ? *job.held : *which.cluster;
  result.recovery = text_of(recovery_name, job.recovery) + (job.held ? in_market(held.nodes.front().market) : "");
  const WorldSetting setting{*which.cluster, *which.workload, *job.market, *strategy, *recovery, lowering_options(which, options),
                             nursery, memory, options.jobs, which.seed, options.keep_trace};
  PlannedWorld world(setting);
  LongJob done = run_long(job.run, setting, held, world);
  result.job = std::move(done.report);
  result.job_trace = std::move(done.trace);
  show_longest(which, world, result);
  if (result.job->longest_plan >= 0) return;
  result.status = CaseStatus::infeasible;
  result.reason = world.first_refusal().empty() ? "no node was ever there" : world.first_refusal();
}

}  // namespace trainyard
