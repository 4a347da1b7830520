#include "sim/job/planned_world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>

#include "sim/cost/memory.hpp"
#include "sim/job/subset.hpp"
#include "sim/lowering/scramble.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

std::set<DeviceId> devices_of(const Plan& plan) {
  std::set<DeviceId> devices;
  for (const PlanPhase& phase : plan.phases)
    for (const Part& part : phase.parts)
      for (const Stage& stage : part.stages) devices.insert(stage.devices.begin(), stage.devices.end());
  return devices;
}

/// What a node's devices hold, as a number; 0: nothing.
std::uint64_t role_of(const Node& node, const Holdings& held) {
  std::uint64_t role = 0;
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    for (const StatePart& part : held[index(node.devices[i])]) {
      const auto mix = [&](std::uint64_t value) { role = scramble(role ^ scramble(value + i)); };
      mix(std::uint64_t(part.kind));
      mix(index(part.layer));
      mix(std::bit_cast<std::uint64_t>(part.from));
      mix(std::bit_cast<std::uint64_t>(part.to));
    }
  return role;
}

std::string why_it_does_not_fit(const SimulationOutcome& outcome) {
  if (const auto* error = std::get_if<SimulationError>(&outcome)) return error->why;
  const StepReport& report = std::get<StepReport>(outcome);
  return report.memory.fits() ? "" : shortfall_text(report.memory);
}

}  // namespace

PlannedWorld::PlannedWorld(const WorldSetting& setting) : setting_(setting), classes_(setting.cluster), sizes_(setting.workload) {}

std::optional<Deployment> PlannedWorld::deploy(const std::vector<NodeId>& there, const StateHolder* before) {
  if (there.empty()) return std::nullopt;
  if (before != nullptr && setting_.recovery.replans())
    if (const std::optional<int> own = by_recovery(there, *before)) return sites_[std::size_t(*own)].deployment;
  std::vector<NodeId> nodes = there;
  while (!nodes.empty()) {
    const Arrangement arrangement = classes_.arrange(nodes);
    if (const int site = site_of(arrangement, before); site >= 0) {
      Deployment deployment = sites_[std::size_t(site)].deployment;
      deployment.nodes = arrangement.order;
      return deployment;
    }
    nodes = arrangement.order;
    nodes.pop_back();
    std::ranges::sort(nodes);
  }
  return std::nullopt;
}

int PlannedWorld::site_of(const Arrangement& arrangement, const StateHolder* before) {
  const auto known = site_of_.find(arrangement.key);
  if (known != site_of_.end()) return known->second;
  const int made = make_site(arrangement.order, before);
  site_of_.emplace(arrangement.key, made);
  return made;
}

int PlannedWorld::make_site(const std::vector<NodeId>& nodes, const StateHolder* before) {
  const Cluster cluster = subset(setting_.cluster, nodes);
  StepSimulator simulator(cluster, setting_.workload, setting_.lowering, setting_.nursery, setting_.jobs, &memory_);
  const PlanningContext context{cluster, setting_.workload, simulator, setting_.seed};
  PlanOrInfeasible answer = ask(context, before, nodes);
  if (const auto* infeasible = std::get_if<Infeasible>(&answer)) {
    if (first_refusal_.empty()) first_refusal_ = infeasible->why;
    return -1;
  }
  Planned planned = std::get<Planned>(std::move(answer));
  planned.plan = setting_.recovery.modify(std::move(planned.plan), context);
  return add_site(nodes, std::move(planned), cluster, simulator, false);
}

/// Answers are remembered by the cluster, so that a reaction is told of what ran before, but not when.
PlanOrInfeasible PlannedWorld::ask(const PlanningContext& context, const StateHolder* before, const std::vector<NodeId>& nodes) {
  if (before == nullptr) return setting_.strategy.plan(context);
  ClusterChange change;
  const Deployment& old = *before->deployment;
  for (std::size_t i = 0; i < old.nodes.size(); ++i)
    if (!before->there[i]) change.lost.push_back(id_at<NodeId>(i));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (std::ranges::find(old.nodes, nodes[i]) == old.nodes.end()) change.joined.push_back(id_at<NodeId>(i));
  const JobState state{context, sites_[std::size_t(old.id)].planned.plan, 0, Seconds(0)};
  return setting_.strategy.react(change, state).plan;
}

int PlannedWorld::add_site(const std::vector<NodeId>& nodes, Planned planned, const Cluster& cluster, StepSimulator& simulator, bool by_recovery) {
  std::string wrong = fmt::format("{}", fmt::join(planned.plan.check(cluster, setting_.workload), "; "));
  SimulationOutcome outcome = SimulationError{wrong};
  if (wrong.empty()) {
    outcome = std::move(simulator.simulate(std::span(&planned.plan, 1)).front());
    wrong = why_it_does_not_fit(outcome);
  }
  if (!wrong.empty()) {
    if (first_refusal_.empty()) first_refusal_ = wrong;
    return -1;
  }
  Site site;
  site.nodes = nodes;
  site.planned = std::move(planned);
  site.planned.rejected.clear();
  site.step = std::get<StepReport>(std::move(outcome));
  site.deployment.id = int(sites_.size());
  fill_deployment(site, cluster, by_recovery);
  sites_.push_back(std::move(site));
  return int(sites_.size()) - 1;
}

void PlannedWorld::fill_deployment(Site& site, const Cluster& cluster, bool by_recovery) {
  Deployment& made = site.deployment;
  made.nodes = site.nodes;
  made.step = made.step_beside_upload = site.step.step_time;
  made.tokens = site.step.tokens;
  made.samples = site.step.samples;
  made.plan = one_line(site.planned.plan, cluster, setting_.workload);
  made.by_recovery = by_recovery;
  const std::set<DeviceId> devices = devices_of(site.planned.plan);
  for (const Node& node : cluster.nodes)
    made.used.push_back(std::ranges::any_of(node.devices, [&](DeviceId device) { return devices.contains(device); }));
  for (const DeviceId device : devices) made.watts += cluster.type_of(device).power_watts * (1 - site.step.bubble_fraction);
  const Holdings held = holdings(site, cluster);
  for (const Node& node : cluster.nodes) site.roles.push_back(role_of(node, held));
  time_saves(site, cluster, held);
}

Holdings PlannedWorld::holdings(const Site& site, const Cluster& cluster) const {
  Holdings held = holdings_of(site.planned.plan, setting_.workload, cluster.devices.size());
  const Holdings more = setting_.recovery.also_held(site.planned.plan, setting_.workload, cluster);
  for (std::size_t i = 0; i < more.size(); ++i) held[i].insert(held[i].end(), more[i].begin(), more[i].end());
  return held;
}

bool PlannedWorld::saves_to(CopyPlace place) const {
  const std::vector<CopyPlace> to = setting_.recovery.saves().to;
  return std::ranges::find(to, place) != to.end();
}

Cluster PlannedWorld::cluster_of(int id) const { return subset(setting_.cluster, sites_[std::size_t(id)].nodes); }

/// Remembered by the Plan that ran and who is left of it: the recovery's Plan depends on nothing else.
std::optional<int> PlannedWorld::by_recovery(const std::vector<NodeId>& there, const StateHolder& before) {
  const Deployment& old = *before.deployment;
  std::vector<NodeId> order;             // those who are left in their old order, then new ones
  std::vector<std::optional<NodeId>> now_of;
  std::string key = fmt::format("{}:", old.id);
  for (std::size_t i = 0; i < old.nodes.size(); ++i) {
    const bool left = before.there[i] && std::ranges::binary_search(there, old.nodes[i]);
    now_of.push_back(left ? std::optional(id_at<NodeId>(order.size())) : std::nullopt);
    if (left) order.push_back(old.nodes[i]);
    key += left ? '1' : '0';
  }
  for (const NodeId node : there)
    if (std::ranges::find(order, node) == order.end()) {
      order.push_back(node);
      key += fmt::format(",{}", classes_.class_of(node));
    }
  const auto [known, is_new] = replanned_.try_emplace(key, -1);
  if (is_new) known->second = replan(order, old.id, now_of);
  if (known->second < 0) return std::nullopt;
  sites_[std::size_t(known->second)].deployment.nodes = order;
  return known->second;
}

int PlannedWorld::replan(const std::vector<NodeId>& order, int old, const std::vector<std::optional<NodeId>>& now_of) {
  const Cluster cluster = subset(setting_.cluster, order), before = cluster_of(old);
  StepSimulator simulator(cluster, setting_.workload, setting_.lowering, setting_.nursery, setting_.jobs, &memory_);
  const PlanningContext context{cluster, setting_.workload, simulator, setting_.seed};
  std::optional<Planned> planned = setting_.recovery.replan({context, before, sites_[std::size_t(old)].planned.plan, now_of});
  return planned ? add_site(order, *std::move(planned), cluster, simulator, true) : -1;
}

}  // namespace trainyard
