// The part of a job's world that moves state: saves, and what a new deployment fetches from whom.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/job/planned_world.hpp"
#include "sim/job/step_beside_upload.hpp"
#include "sim/job/subset.hpp"
#include "sim/lowering/transition.hpp"
#include "sim/units/error.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Above so many different roles nodes keep their order instead of being matched role by role.
constexpr std::size_t kMostRoles = 64;

/// Whether a node keeps the copies of one that holds the same, if each keeps those of the `shift`th before it.
bool keeps_its_own(const std::vector<std::uint64_t>& roles, std::size_t shift) {
  for (std::size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == roles[(i + shift) % roles.size()]) return true;
  return false;
}

/// The part of `held` that lies on one node, to another node of as many devices.
void copy_node(const Holdings& held, const Node& from, const Node& to, Holdings& onto) {
  for (std::size_t i = 0; i < std::min(from.devices.size(), to.devices.size()); ++i) {
    const std::vector<StatePart>& parts = held[index(from.devices[i])];
    std::vector<StatePart>& all = onto[index(to.devices[i])];
    all.insert(all.end(), parts.begin(), parts.end());
  }
}

Bytes total(const std::vector<StateMove>& moves) {
  Bytes sum{};
  for (const StateMove& move : moves) sum += move.bytes;
  return sum;
}

}  // namespace

/// [place] the place of the node whose copies it keeps for `peer`: one before it that has work, as near as none holds the same as the one it
/// keeps copies for (a copy of what survives elsewhere helps nobody), else the one before it.
std::vector<int> PlannedWorld::kept_for(const Site& site) {
  const std::vector<bool>& used = site.deployment.used;
  std::vector<int> users;
  std::vector<std::uint64_t> held;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) {
      users.push_back(int(i));
      held.push_back(site.roles[i]);
    }
  std::vector<int> kept(used.size(), -1);
  if (users.size() < 2) return kept;
  std::size_t shift = 1;
  while (shift < users.size() && keeps_its_own(held, shift)) ++shift;
  if (shift == users.size()) shift = 1;
  for (std::size_t u = 0; u < users.size(); ++u) kept[std::size_t(users[u])] = users[(u + users.size() - shift) % users.size()];
  return kept;
}

const Timeline& PlannedWorld::timeline_of(const std::vector<StateMove>& moves, const Cluster& cluster) {
  const Router router(cluster);
  TaskGraph graph = lower_moves(moves, cluster, router, setting_.market.store);
  const std::uint64_t key = hash(graph);
  if (const Timeline* known = memory_.find_moves(key)) return *known;
  std::vector<SimulationResult> results = setting_.nursery.run({{std::move(graph), {}, false, 1, false}}, 1);
  if (const auto* failure = std::get_if<WorkerFailure>(&results.front()))
    throw InternalError("moving the training state: " + failure->why + " " + failure->last_words);
  return memory_.keep_moves(key, std::get<Timeline>(std::move(results.front())));
}

Seconds PlannedWorld::time_of(const std::vector<StateMove>& moves, const Cluster& cluster) {
  return moves.empty() ? Seconds(0) : timeline_of(moves, cluster).makespan;
}

/// Copies that stay in hosts' memory are there twice: the old one is kept until the new one is whole. What only waits there for the store is
/// there once. Beside them lies what the step itself keeps there.
std::string PlannedWorld::host_shortfall(const Site& site, const Cluster& cluster, const Holdings& held) const {
  const bool own = saves_to(CopyPlace::host), peers = saves_to(CopyPlace::peer), passes = saves_.behind_training && saves_to(CopyPlace::store);
  if (!own && !peers && !passes) return "";
  const auto bytes_of = [&](const Node& node) {
    Bytes sum{};
    for (const DeviceId device : node.devices) sum += sizes_.of(held[index(device)]);
    return sum;
  };
  for (std::size_t place = 0; place < cluster.nodes.size(); ++place) {
    const Node& node = cluster.nodes[place];
    const auto host = std::ranges::find_if(node.devices, [&](DeviceId device) { return cluster.devices[index(device)].kind == DeviceKind::cpu; });
    if (host == node.devices.end() || cluster.devices[index(*host)].memory.value <= 0) continue;
    Bytes copies = bytes_of(node) * (own ? 2.0 : passes ? 1.0 : 0.0);
    if (peers && site.kept[place] >= 0) copies += bytes_of(cluster.nodes[std::size_t(site.kept[place])]) * 2;
    const Bytes capacity = cluster.devices[index(*host)].memory, needed = copies + site.step.peak_host_memory;
    if (needed > capacity)
      return fmt::format("{} lacks {} of host memory for copies of the state ({} beside {} of the step; of {})", cluster.devices[index(*host)].name,
                         to_text(needed - capacity), to_text(copies), to_text(site.step.peak_host_memory), to_text(capacity));
  }
  return "";
}

/// To the hosts first, then to the store: at once where training waits for both, else from the hosts' memory while it goes on.
void PlannedWorld::time_saves(Site& site, const Cluster& cluster, const Holdings& held) {
  const SavePolicy& policy = saves_;
  Deployment& made = site.deployment;
  if (saves_to(CopyPlace::host) || (policy.behind_training && saves_to(CopyPlace::store)))
    made.save += time_of(moves_to_hosts(held, sizes_), cluster);
  if (saves_to(CopyPlace::peer)) made.save += time_of(moves_to_peers(site, cluster, held), cluster);
  if (!saves_to(CopyPlace::store)) return;
  const std::vector<StateMove> moves = moves_to_store(held, made.save.value > 0 ? SiteKind::host : SiteKind::device, sizes_);
  made.saved_to_store = total(moves);
  (policy.behind_training ? made.upload : made.save) += time_of(moves, cluster);
  if (made.upload.value <= 0) return;
  const StepBesideUpload beside = step_beside_upload(site.planned.plan, setting_.workload, cluster, moves, made.upload, made.step, setting_.market.store,
                                                     setting_.lowering, setting_.nursery, memory_);
  made.step_beside_upload = std::max(made.step, beside.step);
  made.upload = std::max(made.upload, beside.upload);
}

std::vector<StateMove> PlannedWorld::moves_to_peers(const Site& site, const Cluster& cluster, const Holdings& held) const {
  std::vector<StateMove> moves;
  for (std::size_t place = 0; place < site.kept.size(); ++place) {
    if (site.kept[place] < 0) continue;
    const Node &from = cluster.nodes[std::size_t(site.kept[place])], &to = cluster.nodes[place];
    for (std::size_t i = 0; i < std::min(from.devices.size(), to.devices.size()); ++i) {
      const std::vector<StatePart>& parts = held[index(from.devices[i])];
      if (parts.empty()) continue;
      moves.push_back({{SiteKind::device, from.devices[i]}, {SiteKind::host, to.devices[i]}, sizes_.of(parts), parts.front().layer, parts.back().layer});
    }
  }
  return moves;
}

/// A holder of state as seen from its nodes.
struct PlannedWorld::HeldBy {
  const Site* site = nullptr;
  std::map<NodeId, int> place_of;        ///< only of nodes that are still there
};

PlannedWorld::HeldBy PlannedWorld::held_by(const std::optional<StateHolder>& holder) const {
  HeldBy held;
  if (!holder) return held;
  held.site = &sites_[std::size_t(holder->deployment->id)];
  for (std::size_t i = 0; i < holder->there.size(); ++i)
    if (holder->there[i]) held.place_of[holder->deployment->nodes[i]] = int(i);
  return held;
}

std::uint64_t PlannedWorld::role_at(const HeldBy& held, NodeId node) const {
  const auto place = held.place_of.find(node);
  return place == held.place_of.end() ? 0 : held.site->roles[std::size_t(place->second)];
}

std::optional<StateTransfer> PlannedWorld::transfer(Deployment& next, const StateSources& sources) {
  const HeldBy devices = held_by(sources.devices), hosts = held_by(sources.hosts);
  if (!next.by_recovery && (devices.site != nullptr || hosts.site != nullptr)) find_places(next, devices.site != nullptr ? devices : hosts);
  std::vector<NodeId> extras;            // hold state, but have no place any more
  for (const HeldBy* held : {&devices, &hosts})
    for (const auto& [node, place] : held->place_of)
      if (std::ranges::find(next.nodes, node) == next.nodes.end() && std::ranges::find(extras, node) == extras.end()) extras.push_back(node);
  std::string key = fmt::format("{}:{}:{}:{}:", next.id, sources.in_store, devices.site != nullptr ? devices.site->deployment.id : -1,
                                hosts.site != nullptr ? hosts.site->deployment.id : -1);
  const auto add = [&](NodeId node) { key += fmt::format("{:x}.{:x}.{},", role_at(devices, node), role_at(hosts, node), peer_key(hosts, node)); };
  for (const NodeId node : next.nodes) add(node);
  key += "+";
  std::ranges::stable_sort(extras, {}, [&](NodeId node) { return std::tuple(classes_.class_of(node), role_at(devices, node), role_at(hosts, node)); });
  for (const NodeId node : extras) {
    key += fmt::format("{}:", classes_.class_of(node));
    add(node);
  }
  std::vector<NodeId> nodes = next.nodes;
  nodes.insert(nodes.end(), extras.begin(), extras.end());
  const auto [known, is_new] = transfers_.try_emplace(std::move(key));
  if (is_new) known->second = simulate_transfer(next, devices, hosts, sources.in_store, nodes);
  if (!known->second) return std::nullopt;
  StateTransfer transfer = known->second->transfer;
  if (setting_.keep_trace) transfer.fetches = fetches_of(*known->second, nodes);
  return transfer;
}

/// With the names of the nodes that stand at these places now.
std::vector<StateFetch> PlannedWorld::fetches_of(const KnownTransfer& known, const std::vector<NodeId>& nodes) const {
  const Cluster cluster = subset(setting_.cluster, nodes);
  const auto name_of = [&](const trainyard::Site& site) {
    if (site.kind == SiteKind::store) return std::string("store");
    const NodeId place = cluster.devices[index(site.device)].node;
    const std::vector<DeviceId>& devices = cluster.nodes[index(place)].devices;
    const auto position = std::ranges::find(devices, site.device) - devices.begin();
    const Node& node = setting_.cluster.nodes[index(nodes[index(place)])];
    const std::string device = setting_.cluster.devices[index(node.devices[std::size_t(position)])].name;
    return site.kind == SiteKind::host ? "host of " + device : device;
  };
  std::vector<StateFetch> all;
  for (std::size_t i = 0; i < known.moves.size(); ++i) {
    const StateMove& move = known.moves[i];
    const NodeId target = nodes[index(cluster.devices[index(move.to.device)].node)];
    all.push_back({known.start[i], known.end[i], name_of(move.from), name_of(move.to), int(index(target)), int(index(move.first)), int(index(move.last)), move.bytes});
  }
  return all;
}

/// With copies at peers it matters whose they are.
std::uint64_t PlannedWorld::peer_key(const HeldBy& hosts, NodeId node) const {
  const auto place = hosts.place_of.find(node);
  if (place == hosts.place_of.end() || !saves_to(CopyPlace::peer)) return 0;
  const int of = hosts.site->kept[std::size_t(place->second)];
  return of < 0 ? 0 : hosts.site->roles[std::size_t(of)];
}

/// Among nodes of a class, who held most of what a place needs stands there: pairs of roles by the bytes they share, largest first.
void PlannedWorld::find_places(Deployment& next, const HeldBy& from) {
  const Site& site = sites_[std::size_t(next.id)];
  if (std::set(site.roles.begin(), site.roles.end()).size() > kMostRoles) return keep_order(next, from);
  std::map<int, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < next.nodes.size(); ++i) places[classes_.class_of(next.nodes[i])].push_back(i);
  for (const auto& [kind, of_class] : places) {
    std::map<std::uint64_t, std::vector<NodeId>> nodes;          // by old role
    std::map<std::uint64_t, std::vector<std::size_t>> open;      // by new role
    for (const std::size_t place : of_class) {
      nodes[role_at(from, next.nodes[place])].push_back(next.nodes[place]);
      open[site.roles[place]].push_back(place);
    }
    std::vector<std::tuple<double, std::uint64_t, std::uint64_t>> pairs;
    for (const auto& [old_role, unused] : nodes)
      for (const auto& [new_role, also_unused] : open) pairs.emplace_back(-shared_bytes(*from.site, old_role, site, new_role), old_role, new_role);
    std::ranges::sort(pairs);
    for (const auto& [bytes, old_role, new_role] : pairs)
      while (!nodes[old_role].empty() && !open[new_role].empty()) {
        next.nodes[open[new_role].front()] = nodes[old_role].front();
        open[new_role].erase(open[new_role].begin());
        nodes[old_role].erase(nodes[old_role].begin());
      }
  }
}

/// Nodes of a class in the order in which they stood, new ones behind them.
void PlannedWorld::keep_order(Deployment& next, const HeldBy& from) const {
  std::map<int, std::vector<NodeId>> nodes;
  for (const NodeId node : next.nodes) nodes[classes_.class_of(node)].push_back(node);
  const auto old_place = [&](NodeId node) {
    const auto place = from.place_of.find(node);
    return std::pair(place == from.place_of.end() ? int(from.site->roles.size()) : place->second, node);
  };
  for (auto& [kind, of_class] : nodes) std::ranges::sort(of_class, std::greater(), old_place);
  for (NodeId& node : next.nodes) {
    std::vector<NodeId>& of_class = nodes[classes_.class_of(node)];
    node = of_class.back();
    of_class.pop_back();
  }
}

double PlannedWorld::shared_bytes(const Site& old, std::uint64_t old_role, const Site& now, std::uint64_t new_role) {
  if (old_role == 0 || new_role == 0) return 0;
  if (old_role == new_role) return 2 * sizes_.total().value;  // before all others
  const auto [known, is_new] = shared_.try_emplace({old_role, new_role}, 0.0);
  if (!is_new) return known->second;
  const auto parts_of = [&](const Site& site, std::uint64_t role) {
    const Holdings& held = holdings_at(site);
    const auto place = std::size_t(std::ranges::find(site.roles, role) - site.roles.begin());
    std::size_t first = 0;               // device of the place: they stand in the order of the nodes
    for (std::size_t i = 0; i < place; ++i) first += setting_.cluster.nodes[index(site.nodes[i])].devices.size();
    const std::size_t count = setting_.cluster.nodes[index(site.nodes[place])].devices.size();
    return std::vector(held.begin() + std::ptrdiff_t(first), held.begin() + std::ptrdiff_t(first + count));
  };
  const auto before = parts_of(old, old_role), after = parts_of(now, new_role);
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    for (const StatePart& a : before[i])
      for (const StatePart& b : after[i])
        if (a.layer == b.layer && a.kind == b.kind)
          known->second += sizes_.of(a.layer, a.kind).value * std::max(0.0, std::min(a.to, b.to) - std::max(a.from, b.from));
  return known->second;
}

std::optional<PlannedWorld::KnownTransfer> PlannedWorld::simulate_transfer(const Deployment& next, const HeldBy& devices, const HeldBy& hosts,
                                                             bool in_store, const std::vector<NodeId>& nodes) {
  const Cluster cluster = subset(setting_.cluster, nodes);
  Holdings wanted = holdings_at(sites_[std::size_t(next.id)]);
  wanted.resize(cluster.devices.size());
  StateCopies copies{{}, {}, in_store};
  if (devices.site != nullptr) copies.devices = copies_at(devices, nodes, cluster, false);
  if (hosts.site != nullptr) copies.hosts = copies_at(hosts, nodes, cluster, true);
  const std::optional<std::vector<StateMove>> moves = moves_to(wanted, copies, sizes_, cluster);
  if (!moves) return std::nullopt;
  KnownTransfer known{{time_of(*moves, cluster), bytes_from(*moves, SiteKind::device), bytes_from(*moves, SiteKind::host),
                       bytes_from(*moves, SiteKind::store), egress_of(*moves, cluster), {}}, {}, {}, {}};
  if (setting_.keep_trace && !moves->empty()) {
    const Timeline& timeline = timeline_of(*moves, cluster);
    known = {std::move(known.transfer), *moves, timeline.start, timeline.end};
  }
  return known;
}

Holdings PlannedWorld::copies_at(const HeldBy& held, const std::vector<NodeId>& nodes, const Cluster& cluster, bool in_hosts) {
  const Cluster old = subset(setting_.cluster, held.site->nodes);
  const Holdings& all = holdings_at(*held.site);
  const std::vector<int>& kept = held.site->kept;
  Holdings copies(cluster.devices.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto place = held.place_of.find(nodes[n]);
    if (place == held.place_of.end()) continue;
    const auto at = std::size_t(place->second);
    if (!in_hosts || saves_to(CopyPlace::host) || !saves_to(CopyPlace::peer)) copy_node(all, old.nodes[at], cluster.nodes[n], copies);
    if (in_hosts && saves_to(CopyPlace::peer) && kept[at] >= 0) copy_node(all, old.nodes[std::size_t(kept[at])], cluster.nodes[n], copies);
  }
  return copies;
}

Dollars PlannedWorld::egress_of(const std::vector<StateMove>& moves, const Cluster& cluster) const {
  Dollars sum{};
  for (const StateMove& move : moves) {
    if (move.from.kind == SiteKind::store) {
      sum += setting_.market.store.egress * move.bytes;
      continue;
    }
    const Node &from = cluster.nodes[index(cluster.devices[index(move.from.device)].node)], &to = cluster.nodes[index(cluster.devices[index(move.to.device)].node)];
    if (from.region != to.region)
      sum += setting_.market.egress.between_regions * move.bytes;
    else if (from.zone != to.zone)
      sum += setting_.market.egress.between_zones * move.bytes;
  }
  return sum;
}

}  // namespace trainyard
