#include <algorithm>

#include "sim/engine/binary.hpp"
#include "sim/engine/nursery.hpp"
#include "sim/job/case.hpp"
#include "sim/job/step_memory.hpp"
#include "sim/model/task_graph_fields.hpp"

namespace trainyard {

template <Is<TimeBreakdown> T, class V>
void visit_fields(T& t, V&& visit) {
  for (const TimePartName& part : kTimeParts) visit(t.*part.part);
}
template <Is<MemoryReport> T, class V>
void visit_fields(T& m, V&& visit) {
  visit(m.device, m.peak, m.capacity, m.at_peak, m.when);
}
template <Is<StepReport> T, class V>
void visit_fields(T& s, V&& visit) {
  visit(s.step_time, s.first_step_time, s.time, s.bubble_fraction, s.exposed_communication_fraction, s.expert_imbalance, s.model_flops, s.hardware_flops,
        s.flops_known, s.peak, s.tokens, s.samples, s.gpus, s.memory, s.last_stage_memory, s.peak_host_memory, s.price, s.price_known, s.simulated_tasks,
        s.device_classes, s.extrapolated);
}
template <Is<RejectedPlan> T, class V>
void visit_fields(T& r, V&& visit) {
  visit(r.what, r.why);
}
template <Is<PlanTraits> T, class V>
void visit_fields(T& t, V&& visit) {
  visit(t.stages, t.least_layers, t.most_layers, t.least_tensor, t.most_tensor, t.replicas, t.micro_batches, t.micro_batch, t.zero, t.kinds,
        t.schedule, t.recompute);
}
template <Is<PathPart> T, class V>
void visit_fields(T& p, V&& visit) {
  visit(p.kind, p.pipeline, p.stage, p.device, p.model, p.time);
}
template <Is<ResourceGain> T, class V>
void visit_fields(T& g, V&& visit) {
  visit(g.resource, g.factor, g.step_time, g.throughput_gain, g.cost_change, g.why_not);
}
template <Is<JobResult> T, class V>
void visit_fields(T& j, V&& visit) {
  visit(j.name, j.strategy, j.plan_json, j.plan_line, j.step, j.alone_step_time);
}
template <Is<StepTrace> T, class V>
void visit_fields(T& t, V&& visit) {
  visit(t.graph, t.timeline);
}
template <Is<JobEntry> T, class V>
void visit_fields(T& e, V&& visit) {
  visit(e.at, e.phase, e.nodes, e.used, e.tokens_per_s, e.plan, e.tokens, e.usd, e.price);
}
template <Is<JobStretch> T, class V>
void visit_fields(T& s, V&& visit) {
  visit(s.from, s.until, s.what, s.steps);
}
template <Is<StateFetch> T, class V>
void visit_fields(T& f, V&& visit) {
  visit(f.from, f.until, f.source, f.target, f.node, f.first_layer, f.last_layer, f.bytes);
}
template <Is<HeldNode> T, class V>
void visit_fields(T& n, V&& visit) {
  visit(n.node, n.name, n.acquired, n.ready, n.noticed, n.until, n.preempted, n.failed);
}
template <Is<JobTrace> T, class V>
void visit_fields(T& t, V&& visit) {
  visit(t.stretches, t.fetches, t.nodes);
}
template <Is<JobTimes> T, class V>
void visit_fields(T& t, V&& visit) {
  visit(t.useful, t.lost_work, t.checkpoint, t.reconfiguration, t.waiting, t.idle);
}
template <Is<JobMoney> T, class V>
void visit_fields(T& m, V&& visit) {
  visit(m.nodes, m.storage, m.egress, m.known);
}
template <Is<JobTraffic> T, class V>
void visit_fields(T& t, V&& visit) {
  visit(t.from_devices, t.from_hosts, t.from_store, t.to_store, t.stored_for);
}
template <Is<OnDemandJob> T, class V>
void visit_fields(T& j, V&& visit) {
  visit(j.tokens_per_s, j.price, j.price_known);
}
template <Is<Spread> T, class V>
void visit_fields(T& s, V&& visit) {
  visit(s.mean, s.half_width);
}
template <Is<SeedSpread> T, class V>
void visit_fields(T& s, V&& visit) {
  visit(s.seeds, s.goodput, s.tokens, s.usd, s.usd_per_million_tokens, s.useful_fraction, s.preemptions);
}
template <Is<JobReport> T, class V>
void visit_fields(T& r, V&& visit) {
  visit(r.length, r.times, r.steps, r.tokens, r.samples, r.money, r.traffic, r.gpu_hours, r.energy_kwh, r.preemptions, r.failures,
        r.reconfigurations, r.rollbacks, r.saves, r.detailed_steps, r.plans, r.longest_plan, r.on_demand, r.time_to_target, r.usd_to_target,
        r.timeline);
}
template <Is<Ground> T, class V>
void visit_fields(T& g, V&& visit) {
  visit(g.generation, g.model, g.nodes);
}
template <Is<ErrorBand> T, class V>
void visit_fields(T& b, V&& visit) {
  visit(b.group, b.rows, b.median, b.low, b.high, b.eight_of_ten);
}
template <Is<ReplayRank> T, class V>
void visit_fields(T& r, V&& visit) {
  visit(r.rank, r.device, r.nodes, r.exchanges, r.work, r.computing, r.communication, r.exposed, r.host, r.idle);
}
template <Is<ReplayDifference> T, class V>
void visit_fields(T& d, V&& visit) {
  visit(d.rank, d.id, d.name, d.recorded, d.simulated, d.recorded_begin, d.simulated_begin);
}
template <Is<ReplayComparison> T, class V>
void visit_fields(T& c, V&& visit) {
  visit(c.source, c.recorded_step, c.simulated_step, c.matched, c.unmatched_recorded, c.unmatched_simulated, c.recorded_computing, c.simulated_computing,
        c.recorded_communication, c.simulated_communication, c.recorded_transfers, c.simulated_transfers, c.worst);
}
template <Is<ReplayReport> T, class V>
void visit_fields(T& r, V&& visit) {
  visit(r.source, r.heading, r.nodes, r.exchanges, r.exchanged, r.ranks, r.recorded_step, r.against);
}
template <Is<CaseResult> T, class V>
void visit_fields(T& c, V&& visit) {
  visit(c.scenario, c.variant, c.strategy, c.status, c.reason, c.user_error, c.plan_json, c.plan_line, c.step, c.ground, c.job, c.job_trace, c.seeds, c.recovery,
        c.planner_estimate, c.rejected, c.traits, c.critical_path, c.sensitivity, c.error_band, c.error_band_from, c.pareto_front, c.remarks, c.planner_truncated,
        c.alone_step_time, c.jobs, c.replay, c.trace, c.planner_wall, c.simulation_wall);
}

namespace {

CaseResult died(const Case& which, const WorkerFailure& failure) {
  CaseResult result;
  result.scenario = which.scenario;
  result.variant = which.variant;
  result.strategy = which.strategy;
  result.status = CaseStatus::error;
  result.reason = failure.last_words.empty() ? failure.why : failure.why + ": " + failure.last_words;
  return result;
}

using Group = std::vector<std::size_t>;  ///< cases of one process

/// Cases that share their memory together; where that makes fewer than `jobs` processes, the largest groups are halved.
std::vector<Group> groups_of(const std::vector<Case>& cases, int jobs) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto known = std::ranges::find_if(groups, [&](const Group& group) { return share_memory(cases[group.front()], cases[i]); });
    if (known == groups.end())
      groups.push_back({i});
    else
      known->push_back(i);
  }
  while (groups.size() < std::size_t(std::max(1, jobs))) {
    const auto largest = std::ranges::max_element(groups, {}, &Group::size);
    if (largest == groups.end() || largest->size() < 2) break;
    const auto middle = largest->begin() + std::ptrdiff_t((largest->size() + 1) / 2);
    Group second(middle, largest->end());
    largest->erase(middle, largest->end());
    groups.push_back(std::move(second));
  }
  return groups;
}

std::string run_group(const Group& group, const std::vector<Case>& cases, const CaseOptions& options, const WorkerNursery& nursery) {
  JobMemory memory;
  std::vector<CaseResult> results;
  for (const std::size_t i : group) results.push_back(run_case(cases.at(i), options, nursery, &memory));
  return binary::encoded(results);
}

}  // namespace

std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const CaseOptions& options, int jobs, const WorkerNursery& nursery,
                                  const std::function<void(std::size_t, std::size_t)>& progress) {
  const NurseryProcess processes = start_nursery(
      [&](std::string_view request) { return run_group(binary::decoded<Group>(request), cases, options, nursery); });
  std::vector<CaseResult> results(cases.size());
  std::size_t done = 0;
  std::vector<Group> groups = groups_of(cases, jobs), again;
  const auto keep = [&](std::size_t g, const WorkerAnswer& answer) {
    const Group& group = groups[g];
    const auto* failure = std::get_if<WorkerFailure>(&answer);
    if (failure && group.size() > 1) {
      for (const std::size_t i : group) again.push_back({i});
      return;
    }
    std::vector<CaseResult> made;
    if (!failure) made = binary::decoded<std::vector<CaseResult>>(std::get<std::string>(answer));
    for (std::size_t k = 0; k < group.size(); ++k) {
      results[group[k]] = failure ? died(cases[group[k]], *failure) : std::move(made.at(k));
      if (progress) progress(++done, cases.size());
    }
  };
  const auto request = [&](std::size_t g) { return binary::encoded(groups[g]); };
  ask_workers(processes.socket, groups.size(), request, jobs, keep);
  if (!again.empty()) {
    groups = std::move(again);
    ask_workers(processes.socket, groups.size(), request, jobs, keep);
  }
  end_nursery(processes);
  return results;
}

}  // namespace trainyard
