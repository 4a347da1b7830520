#include <algorithm>

#include "sim/engine/binary.hpp"
#include "sim/engine/nursery.hpp"
#include "sim/job/case.hpp"
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
  visit(e.at, e.phase, e.nodes, e.used, e.tokens_per_s, e.plan);
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
template <Is<CaseResult> T, class V>
void visit_fields(T& c, V&& visit) {
  visit(c.scenario, c.variant, c.strategy, c.status, c.reason, c.user_error, c.plan_json, c.plan_line, c.step, c.ground, c.job, c.seeds, c.recovery,
        c.planner_estimate, c.rejected, c.traits, c.critical_path, c.sensitivity, c.error_band, c.error_band_from, c.pareto_front, c.remarks, c.planner_truncated,
        c.alone_step_time, c.jobs, c.trace, c.planner_wall, c.simulation_wall);
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

}  // namespace

std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const CaseOptions& options, int jobs, const WorkerNursery& nursery,
                                  const std::function<void(std::size_t, std::size_t)>& progress) {
  const NurseryProcess processes = start_nursery([&](std::string_view request) {
    return binary::encoded(run_case(cases.at(binary::decoded<std::size_t>(request)), options, nursery));
  });
  std::vector<CaseResult> results(cases.size());
  std::size_t done = 0;
  const auto keep = [&](std::size_t i, const WorkerAnswer& answer) {
    const auto* failure = std::get_if<WorkerFailure>(&answer);
    results[i] = failure ? died(cases[i], *failure) : binary::decoded<CaseResult>(std::get<std::string>(answer));
    if (progress) progress(++done, cases.size());
  };
  ask_workers(processes.socket, cases.size(), [](std::size_t i) { return binary::encoded(i); }, jobs, keep);
  end_nursery(processes);
  return results;
}

}  // namespace trainyard
