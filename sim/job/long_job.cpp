#include "sim/job/long_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/job/idle_power.hpp"
#include "sim/job/job_course.hpp"
#include "sim/job/money_over_time.hpp"
#include "sim/planning/recovery_registry.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr Seconds kDay(86400), kMonth(30 * 86400.0), kLongest(30 * 365 * 86400.0);

JobRules rules_of(const LongRun& run, const Market& market, const Recovery& recovery) {
  return {saves_in(market, recovery), recovery.restore(), recovery.on_notice(), run.planning, run.tokens};
}

std::vector<NodeId> all_nodes(const Cluster& cluster) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) nodes.push_back(id_at<NodeId>(i));
  return nodes;
}

struct NodeGpus {
  int count = 0;
  double idle_watts = 0;
};
NodeGpus gpus_of(const Cluster& cluster, const Node& node) {
  NodeGpus gpus;
  for (const DeviceId device : node.devices) {
    if (cluster.devices[index(device)].kind != DeviceKind::gpu) continue;
    ++gpus.count;
    gpus.idle_watts += cluster.type_of(device).power_watts * kIdlePower;
  }
  return gpus;
}

/// Every node that is had is paid and draws power, whether it has work or not.
void add_nodes(const Market& market, const Cluster& held, const NodeEvents& events, JobReport& report) {
  for (const NodeSpan& span : events.spans) {
    if (span.acquired >= report.length) continue;
    const Node& node = held.nodes[index(span.node)];
    const Seconds until = std::min(span.until, report.length);
    report.money.nodes += bill(market, node, span.acquired, until);
    const NodeGpus gpus = gpus_of(held, node);
    const double hours = (until - span.acquired).value / 3600;
    report.gpu_hours += gpus.count * hours;
    report.energy_kwh += gpus.idle_watts * hours / 1000;
    const bool has_series = node.market == MarketKind::spot && market.prices.contains(node.group);
    report.money.known = report.money.known && (has_series || !node.price_source.empty());
    if (span.until > report.length) continue;
    report.preemptions += span.end == SpanEnd::preempted;
    report.failures += span.end == SpanEnd::failed;
  }
}

std::vector<HeldNode> held_nodes(const Cluster& cluster, const NodeEvents& events, Seconds length) {
  std::vector<HeldNode> held;
  for (const NodeSpan& span : events.spans) {
    if (span.acquired >= length) continue;
    const Node& node = cluster.nodes[index(span.node)];
    const std::string device = node.devices.empty() ? node.group : cluster.devices[index(node.devices.front())].name;
    const bool ended = span.until <= length;
    held.push_back({int(index(span.node)), device.substr(0, device.rfind('.')), span.acquired, span.ready, span.noticed, std::min(span.until, length),
                    ended && span.end == SpanEnd::preempted, ended && span.end == SpanEnd::failed});
  }
  return held;
}

/// One copy is kept: the newest.
void add_storage(const WorldSetting& setting, JobReport& report) {
  const Bytes kept = StateSizes(setting.workload).total();
  report.money.storage = setting.market.store.price_per_month * kept * (report.traffic.stored_for / kMonth);
}

/// The tokens of the run when they were trained; else the steps to convergence at the pace of the whole horizon.
void add_target(const LongRun& run, const Workload& workload, JobReport& report) {
  if (std::isfinite(run.tokens)) {
    if (report.tokens < run.tokens * (1 - 1e-9)) return;
    report.time_to_target = report.length;
    if (report.money.known) report.usd_to_target = report.money.total();
    return;
  }
  if (workload.convergence.empty() || report.steps <= 0) return;
  const Convergence& to = workload.convergence.front();
  const double steps = to.multiplier * to.steps * (1 + to.critical_batch / workload.global_batch);
  report.time_to_target = report.length * (steps / report.steps);
  if (report.money.known) report.usd_to_target = report.money.total() * (steps / report.steps);
}

std::optional<OnDemandJob> on_demand(const LongRun& run, const WorldSetting& setting, PlannedWorld& world) {
  const std::optional<Deployment> all = world.deploy(all_nodes(setting.cluster), nullptr);
  if (!all) return std::nullopt;
  OnDemandJob job{all->tokens_per_s(), {}, true};
  for (const Node& node : setting.cluster.nodes) {
    const auto price = run.on_demand.find(node.group);
    job.price_known = job.price_known && price != run.on_demand.end();
    if (price != run.on_demand.end()) job.price += price->second;
  }
  return job;
}

/// A first guess of how long the tokens take: thrice the time on all nodes.
Seconds first_guess(const LongRun& run, const std::optional<OnDemandJob>& job) {
  if (!job || job->tokens_per_s <= 0) return kDay;
  return std::max(kDay, Seconds(3 * run.tokens / job->tokens_per_s));
}

}  // namespace

std::string name_of(const RecoveryChoice& choice, const Market& market) {
  return !choice.name.empty() ? choice.name : market.store.exists() ? "restart_from_checkpoint" : "none";
}

std::unique_ptr<Recovery> make_recovery(const RecoveryChoice& choice, const Market& market) {
  const std::string name = name_of(choice, market);
  const RecoveryInfo* info = RecoveryRegistry::instance().find(name);
  if (info == nullptr) throw UserError(unknown_name("recovery", name, RecoveryRegistry::instance().names()));
  Diagnostics diagnostics;
  auto recovery = info->make(choice.options.kind == ConfigValue::Kind::null ? View() : View(choice.options), diagnostics);
  diagnostics.throw_if_any();
  return recovery;
}

LongJob run_long(const LongRun& run, const WorldSetting& setting, const Cluster& held, PlannedWorld& world) {
  const std::optional<OnDemandJob> reference = on_demand(run, setting, world);
  const bool to_tokens = run.horizon.value <= 0;
  for (Seconds horizon = to_tokens ? first_guess(run, reference) : run.horizon;; horizon = horizon * 2) {
    const NodeEvents events = node_events(setting.market, held, horizon, setting.seed);
    JobRules rules = rules_of(run, setting.market, setting.recovery);
    rules.keep_trace = setting.keep_trace;
    rules.look_ahead = setting.recovery.look_ahead();
    JobCourse course(world, rules, setting.cluster.nodes.size());
    JobReport report = course.run(events);
    const bool goes_on = to_tokens && report.tokens < run.tokens * (1 - 1e-9) && events.end >= horizon;
    if (goes_on && horizon > kLongest)
      throw UserError(fmt::format("{:g} tokens are not trained within 30 years: {:g} are", run.tokens, report.tokens));
    if (goes_on) continue;
    add_nodes(setting.market, held, events, report);
    add_storage(setting, report);
    add_money_over_time(setting.market, held, events, report);
    add_target(run, setting.workload, report);
    report.on_demand = reference;
    report.detailed_steps = world.simulated();
    if (!setting.keep_trace) return {std::move(report), std::nullopt};
    JobTrace trace = course.take_trace();
    trace.nodes = held_nodes(held, events, report.length);
    return {std::move(report), std::move(trace)};
  }
}

}  // namespace trainyard
