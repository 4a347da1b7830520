#include "sim/job/planned_world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>

#include "sim/cost/memory.hpp"
#include "sim/job/idle_power.hpp"
#include "sim/job/subset.hpp"
#include "sim/lowering/scramble.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Every device that a Plan names.
template <class PlanType, class Visit>
void for_each_device(PlanType& plan, Visit visit) {
  const auto all = [&](auto& devices) {
    for (auto& device : devices) visit(device);
  };
  for (auto& phase : plan.phases) {
    for (auto& part : phase.parts)
      for (auto& stage : part.stages) {
        all(stage.devices);
        for (auto& rule : stage.rules) {
          all(rule.devices);
          for (auto& [state, home] : rule.settings.home) all(home.at);
        }
      }
    for (auto& lane : phase.lanes) all(lane.devices);
  }
}

std::set<DeviceId> devices_of(const Plan& plan) {
  std::set<DeviceId> devices;
  for_each_device(plan, [&](DeviceId device) { devices.insert(device); });
  return devices;
}

/// [place] whether any of its devices is named.
std::vector<bool> places_used(const Plan& plan, const Cluster& cluster) {
  const std::set<DeviceId> devices = devices_of(plan);
  std::vector<bool> used;
  for (const Node& node : cluster.nodes)
    used.push_back(std::ranges::any_of(node.devices, [&](DeviceId device) { return devices.contains(device); }));
  return used;
}

/// The Plan with its nodes' devices at their places in another cluster.
Plan moved(Plan plan, const Cluster& from, const std::vector<NodeId>& order, const Cluster& to, const std::vector<NodeId>& new_order) {
  for_each_device(plan, [&](DeviceId& device) {
    const NodeId place = from.devices[index(device)].node;
    const auto& old = from.nodes[index(place)].devices;
    const auto position = std::ranges::find(old, device) - old.begin();
    const auto now = std::ranges::find(new_order, order[index(place)]) - new_order.begin();
    device = to.nodes[std::size_t(now)].devices[std::size_t(position)];
  });
  return plan;
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

SavePolicy saves_in(const Market& market, const Recovery& recovery) {
  SavePolicy saves = recovery.saves();
  if (saves.store_if_there && !market.store.exists()) std::erase(saves.to, CopyPlace::store);
  return saves;
}

PlannedWorld::PlannedWorld(const WorldSetting& setting)
    : setting_(setting), classes_(setting.cluster), sizes_(setting.workload), saves_(saves_in(setting.market, setting.recovery)), memory_(setting.memory.steps) {
  (void)memory_.exchange_needed({});
}

std::optional<Deployment> PlannedWorld::deploy(const std::vector<NodeId>& there, const StateHolder* before) {
  if (there.empty()) return std::nullopt;
  if (before != nullptr && setting_.recovery.replans())
    if (std::optional<Deployment> own = by_recovery(there, *before)) return own;
  if (const std::optional<std::vector<NodeId>> known = by_larger(there, before)) return on(*known);
  std::vector<NodeId> nodes = there;
  while (!nodes.empty()) {
    const Arrangement arrangement = classes_.arrange(nodes);
    const Answer& answer = answer_for(arrangement, before);
    std::vector<NodeId> used;
    for (std::size_t i = 0; i < arrangement.order.size(); ++i)
      if (answer.fits && answer.used[i]) used.push_back(arrangement.order[i]);
    if (answer.fits) return on(used);
    nodes = arrangement.order;
    nodes.pop_back();
    std::ranges::sort(nodes);
  }
  return std::nullopt;
}

/// The deployment of a Plan that has work for all of these nodes, which is known.
Deployment PlannedWorld::on(std::vector<NodeId> nodes) {
  std::ranges::sort(nodes);
  const Arrangement arrangement = classes_.arrange(nodes);
  Deployment deployment = sites_[std::size_t(site_of_.at(arrangement.key))].deployment;
  deployment.nodes = arrangement.order;
  return deployment;
}

std::vector<int> PlannedWorld::counts_of(const std::vector<NodeId>& nodes) const {
  std::vector<int> counts(classes_.count(), 0);
  for (const NodeId node : nodes) ++counts[std::size_t(classes_.class_of(node))];
  return counts;
}

/// A Plan found on more nodes that leaves enough of them without work is one for fewer: what a strategy can do with these it could do with
/// those. Nodes that ran before come first.
std::optional<std::vector<NodeId>> PlannedWorld::by_larger(const std::vector<NodeId>& there, const StateHolder* before) const {
  const auto covers = [](const std::vector<int>& more, const std::vector<int>& less) { return std::ranges::equal(more, less, std::greater_equal()); };
  const std::vector<int> counts = counts_of(there);
  const auto known = std::ranges::find_if(spared_, [&](const Spared& one) { return covers(one.all, counts) && covers(counts, one.used); });
  if (known == spared_.end()) return std::nullopt;
  const auto ran = [&](NodeId node) { return before != nullptr && std::ranges::find(before->deployment->nodes, node) != before->deployment->nodes.end(); };
  std::vector<NodeId> order = there, chosen;
  std::ranges::stable_partition(order, ran);
  std::vector<int> left = known->used;
  for (const NodeId node : order)
    if (left[std::size_t(classes_.class_of(node))]-- > 0) chosen.push_back(node);
  return chosen;
}

const PlannedWorld::Answer& PlannedWorld::answer_for(const Arrangement& arrangement, const StateHolder* before) {
  const auto [known, is_new] = answers_.try_emplace(arrangement.key);
  if (is_new) known->second = find_answer(arrangement, before);
  return known->second;
}

PlannedWorld::Answer PlannedWorld::find_answer(const Arrangement& arrangement, const StateHolder* before) {
  const std::vector<NodeId>& nodes = arrangement.order;
  const Cluster cluster = subset(setting_.cluster, nodes);
  StepSimulator simulator(cluster, setting_.workload, setting_.lowering, setting_.nursery, setting_.jobs, &memory_);
  const PlanningContext context{cluster, setting_.workload, simulator, setting_.seed};
  const PlanOrInfeasible& answer = ask_once(arrangement, context, before);
  if (const auto* infeasible = std::get_if<Infeasible>(&answer)) {
    if (first_refusal_.empty()) first_refusal_ = infeasible->why;
    return {};
  }
  Planned planned = std::get<Planned>(answer);
  planned.plan = setting_.recovery.modify(std::move(planned.plan), context);
  return place_on_used(std::move(planned), nodes, cluster);
}

/// Other recoveries of the strategy may have asked the same.
const PlanOrInfeasible& PlannedWorld::ask_once(const Arrangement& arrangement, const PlanningContext& context, const StateHolder* before) {
  const auto [known, is_new] = setting_.memory.answers.try_emplace(arrangement.key);
  if (is_new) {
    StepMemory::Needed outer = memory_.exchange_needed({});
    known->second.plan = ask(context, before, arrangement.order);
    known->second.needed = memory_.exchange_needed(std::move(outer));
  }
  memory_.need(known->second.needed);
  return known->second.plan;
}

/// Nodes without work are left out of the deployment, so that Plans on more or fewer of them are one.
PlannedWorld::Answer PlannedWorld::place_on_used(Planned planned, const std::vector<NodeId>& nodes, const Cluster& cluster) {
  Answer answer{true, places_used(planned.plan, cluster)};
  std::vector<NodeId> used;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (answer.used[i]) used.push_back(nodes[i]);
  std::ranges::sort(used);
  const Arrangement arrangement = classes_.arrange(used);
  if (!site_of_.contains(arrangement.key)) {
    const Cluster smaller = subset(setting_.cluster, arrangement.order);
    planned.plan = moved(std::move(planned.plan), cluster, nodes, smaller, arrangement.order);
    StepSimulator simulator(smaller, setting_.workload, setting_.lowering, setting_.nursery, setting_.jobs, &memory_);
    const int made = add_site(arrangement.order, std::move(planned), smaller, simulator, false);
    if (made < 0) return {};
    site_of_.emplace(arrangement.key, made);
  }
  if (used.size() < nodes.size()) spared_.push_back({counts_of(nodes), counts_of(used)});
  return answer;
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
  if (const std::string lacking = fill_deployment(site, cluster, by_recovery); !lacking.empty()) {
    if (first_refusal_.empty()) first_refusal_ = lacking;
    return -1;
  }
  sites_.push_back(std::move(site));
  return int(sites_.size()) - 1;
}

/// "" or what hosts lack for the copies that are saved into them.
std::string PlannedWorld::fill_deployment(Site& site, const Cluster& cluster, bool by_recovery) {
  Deployment& made = site.deployment;
  made.nodes = site.nodes;
  made.step = made.step_beside_upload = site.step.step_time;
  made.tokens = site.step.tokens;
  made.samples = site.step.samples;
  made.plan = one_line(site.planned.plan, cluster, setting_.workload);
  made.by_recovery = by_recovery;
  made.used = places_used(site.planned.plan, cluster);
  for (const DeviceId device : devices_of(site.planned.plan)) made.watts += cluster.type_of(device).power_watts * (1 - kIdlePower) * (1 - site.step.bubble_fraction);
  const Holdings held = holdings(site, cluster);
  for (const Node& node : cluster.nodes) site.roles.push_back(role_of(node, held));
  site.kept = kept_for(site);
  if (std::string lacking = host_shortfall(site, cluster, held); !lacking.empty()) return lacking;
  time_saves(site, cluster, held);
  return "";
}

Holdings PlannedWorld::holdings(const Site& site, const Cluster& cluster) const {
  Holdings held = holdings_of(site.planned.plan, setting_.workload, cluster.devices.size());
  const Holdings more = setting_.recovery.also_held(site.planned.plan, setting_.workload, cluster);
  for (std::size_t i = 0; i < more.size(); ++i) held[i].insert(held[i].end(), more[i].begin(), more[i].end());
  return held;
}

/// Those of a few deployments are kept: with a thousand of hundreds of nodes they would fill the memory.
const Holdings& PlannedWorld::holdings_at(const Site& site) {
  constexpr std::size_t kKept = 64;
  const int id = site.deployment.id;
  const auto known = holdings_.find(id);
  if (known != holdings_.end()) return known->second;
  if (holdings_.size() >= kKept) holdings_.clear();
  return holdings_.emplace(id, holdings(site, cluster_of(id))).first->second;
}

bool PlannedWorld::saves_to(CopyPlace place) const {
  return std::ranges::find(saves_.to, place) != saves_.to.end();
}

Cluster PlannedWorld::cluster_of(int id) const { return subset(setting_.cluster, sites_[std::size_t(id)].nodes); }

/// Remembered by the Plan that ran and who is left of it: the recovery's Plan depends on nothing else.
std::optional<Deployment> PlannedWorld::by_recovery(const std::vector<NodeId>& there, const StateHolder& before) {
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
  const auto [known, is_new] = replanned_.try_emplace(key);
  if (is_new) known->second = replan(order, old.id, now_of);
  if (known->second.site < 0) return std::nullopt;
  Deployment made = sites_[std::size_t(known->second.site)].deployment;
  made.nodes.clear();
  for (const std::size_t place : known->second.places) made.nodes.push_back(order[place]);
  return made;
}

PlannedWorld::Replanned PlannedWorld::replan(const std::vector<NodeId>& order, int old, const std::vector<std::optional<NodeId>>& now_of) {
  const Cluster cluster = subset(setting_.cluster, order), before = cluster_of(old);
  StepSimulator simulator(cluster, setting_.workload, setting_.lowering, setting_.nursery, setting_.jobs, &memory_);
  const PlanningContext context{cluster, setting_.workload, simulator, setting_.seed};
  std::optional<Planned> planned = setting_.recovery.replan({context, before, sites_[std::size_t(old)].planned.plan, now_of});
  return planned ? find_site(order, *std::move(planned), cluster) : Replanned{};
}

/// Nodes stand in the order in which the Plan names them, those without work are left out: Plans that give nodes of the same kinds the same
/// work are one.
PlannedWorld::Replanned PlannedWorld::find_site(const std::vector<NodeId>& order, Planned planned, const Cluster& cluster) {
  Replanned found;
  for_each_device(planned.plan, [&](DeviceId device) {
    const std::size_t place = index(cluster.devices[index(device)].node);
    if (std::ranges::find(found.places, place) == found.places.end()) found.places.push_back(place);
  });
  std::vector<NodeId> nodes;
  std::string key;
  for (const std::size_t place : found.places) {
    nodes.push_back(order[place]);
    key += fmt::format("{},", classes_.class_of(order[place]));
  }
  const Cluster smaller = subset(setting_.cluster, nodes);
  planned.plan = moved(std::move(planned.plan), cluster, order, smaller, nodes);
  key += to_yaml(describe(planned.plan, smaller, setting_.workload));
  const auto [known, is_new] = site_of_plan_.try_emplace(key, -1);
  if (is_new) {
    StepSimulator simulator(smaller, setting_.workload, setting_.lowering, setting_.nursery, setting_.jobs, &memory_);
    known->second = add_site(nodes, std::move(planned), smaller, simulator, true);
  }
  found.site = known->second;
  return found;
}

}  // namespace trainyard
