#include "sim/lowering/traffic.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <unordered_set>
#include <utility>

#include "sim/cost/resharding.hpp"

namespace trainyard {
namespace {

Communicator ring_of(CommunicatorKind kind, std::vector<DeviceId> members, std::vector<int> cells, const Router& router) {
  const RingUse use = router.rings(members);
  Communicator group;
  group.kind = kind;
  group.hops = use.nodes > 1 ? use.nodes : static_cast<int>(members.size());
  group.members = std::move(members);
  group.cells = std::move(cells);
  group.links = use.links;
  group.rings = use.rings;
  group.hop_latency = use.hop_latency;
  group.transport = use.transport;
  group.nodes = use.nodes;
  return group;
}

/// Groups that share devices advance together, over all their links at once; of different numbers of rings the least counts.
void add_together(std::vector<Communicator> groups, TrafficMap& traffic) {
  while (!groups.empty()) {
    Communicator all = std::move(groups.front());
    groups.erase(groups.begin());
    std::map<LinkId, int> uses(all.links.begin(), all.links.end());
    const int ring_members = int(all.members.size());
    std::unordered_set<DeviceId> taken(all.members.begin(), all.members.end());
    const auto shares = [&](const Communicator& other) { return std::ranges::any_of(other.members, [&](DeviceId d) { return taken.contains(d); }); };
    for (auto next = std::ranges::find_if(groups, shares); next != groups.end(); next = std::ranges::find_if(groups, shares)) {
      for (const DeviceId member : next->members)
        if (taken.insert(member).second) all.members.push_back(member);
      for (const int cell : next->cells)
        if (std::ranges::find(all.cells, cell) == all.cells.end()) all.cells.push_back(cell);
      for (const auto& [link, times] : next->links) uses[link] += times;
      all.rings = std::min(all.rings, next->rings);
      all.hops = std::max(all.hops, next->hops);
      all.nodes = std::max(all.nodes, next->nodes);
      all.ring_members = ring_members;
      if (next->hop_latency > all.hop_latency) {
        all.hop_latency = next->hop_latency;
        all.transport = next->transport;
      }
      groups.erase(next);
    }
    all.links.assign(uses.begin(), uses.end());
    traffic.all.push_back(std::move(all));
  }
}

/// One exchange between the cells of neighbouring stages: as many device pairs as the wider cell has members, all at once. What a device has
/// already stays where it is.
Communicator transfer(CommunicatorKind kind, const Cell& from, int from_id, const Cell& to, int to_id, const Router& router) {
  Communicator group;
  group.kind = kind;
  group.cells = {from_id, to_id};
  group.members = from.members;
  group.members.insert(group.members.end(), to.members.begin(), to.members.end());
  const std::size_t senders = from.members.size(), receivers = to.members.size();
  group.pairs = static_cast<int>(std::max(senders, receivers));
  std::map<LinkId, int> uses;
  for (int pair = 0; pair < group.pairs; ++pair) {
    const DeviceId sender = from.members[pair * senders / group.pairs], receiver = to.members[pair * receivers / group.pairs];
    if (sender == receiver) continue;
    const Route& route = router.route(sender, receiver);
    const bool is_first = uses.empty();
    for (const LinkId link : route.links) ++uses[link];
    if (is_first || route.latency > group.hop_latency) {
      group.hop_latency = route.latency;
      group.transport = router.transport_of(route);
    }
  }
  group.links.assign(uses.begin(), uses.end());
  return group;
}

/// `count` members of a cell from `first` on, `stride` apart.
std::vector<DeviceId> members_of(const Cell& cell, int first, int count, int stride) {
  std::vector<DeviceId> members;
  for (int i = 0; i < count; ++i) members.push_back(cell.members[first + i * stride]);
  return members;
}

/// Every line of a grid along each axis.
void add_grid_lines(const Placement& placement, int cell, const Router& router, TrafficMap& traffic) {
  const ProductGrid& grid = placement.role(cell).cut.grid;
  for (int at = 0; at < grid.members(); ++at) {
    const auto line = [&](CommunicatorKind kind, int size, int stride) {
      const bool begins = at / stride % size == 0;
      if (size > 1 && begins) traffic.all.push_back(ring_of(kind, members_of(placement.cells[cell], at, size, stride), {cell}, router));
    };
    line(CommunicatorKind::rows, grid.rows, grid.columns * grid.inner);
    line(CommunicatorKind::columns, grid.columns, grid.inner);
    line(CommunicatorKind::inner, grid.inner, 1);
  }
}

void add_cell_groups(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (std::size_t i = 0; i < placement.cells.size(); ++i) {
    const LayerCut& cut = placement.role(int(i)).cut;
    if (cut.grid.members() > 1) {
      add_grid_lines(placement, int(i), router, traffic);
      continue;
    }
    for (int c = 0; c < cut.context && cut.tensor > 1; ++c)
      traffic.all.push_back(
          ring_of(CommunicatorKind::tensor, members_of(placement.cells[i], c * cut.tensor, cut.tensor, 1), {int(i)}, router));
    for (int t = 0; t < cut.tensor && cut.context > 1; ++t)
      traffic.all.push_back(ring_of(CommunicatorKind::context, members_of(placement.cells[i], t, cut.context, cut.tensor), {int(i)}, router));
  }
}

/// Data ranks of one of `groups` equal runs.
std::vector<int> cells_of(const Placement& placement, int role, int group, int groups) {
  std::vector<int> cells(placement.data_size[role] / groups);
  std::iota(cells.begin(), cells.end(), placement.first_cell[role] + group * int(cells.size()));
  return cells;
}

/// The place of one device in its layout of experts.
struct Seated {
  ExpertSeat seat;
  DeviceId device{};
  int cell = 0;
};

/// The seats of a stage, in groups that `place` tells apart, each in order of `order`.
template <class PlaceOf, class Order>
std::map<std::pair<int, int>, std::vector<Seated>> seats_by(const Placement& placement, const std::vector<int>& cells, PlaceOf place_of, Order order) {
  std::map<std::pair<int, int>, std::vector<Seated>> groups;
  for (const int cell : cells)
    for (std::size_t m = 0; m < placement.cells[cell].seats.size(); ++m) {
      const ExpertSeat& seat = placement.cells[cell].seats[m];
      groups[place_of(seat)].push_back({seat, placement.cells[cell].members[m], cell});
    }
  for (auto& [place, seats] : groups) std::ranges::stable_sort(seats, {}, [&](const Seated& seated) { return order(seated.seat); });
  return groups;
}

/// What crosses between nodes in an all-to-all takes every way between them, not only that of a ring: for each byte through a port
/// to the network a link among switches carries as many as ways between nodes lead over it, out of those that begin at a port.
void widen_to_all_pairs(Communicator& group, const Router& router, const Cluster& cluster) {
  std::map<NodeId, std::vector<DeviceId>> by_node;
  for (const DeviceId member : group.members) by_node[cluster.devices[index(member)].node].push_back(member);
  if (by_node.size() < 2) return;
  std::map<LinkId, int> ways, uses(group.links.begin(), group.links.end());
  for (const auto& [from, senders] : by_node)
    for (const auto& [to, receivers] : by_node)
      for (std::size_t i = 0; from != to && i < senders.size(); ++i)
        for (const LinkId link : router.route(senders[i], receivers[i % receivers.size()]).links) ++ways[link];
  const int peers = int(by_node.size()) - 1;
  for (const auto& [link, count] : ways) uses[link] = std::max(uses[link], (count + peers - 1) / peers);
  group.links.assign(uses.begin(), uses.end());
}

Communicator seated_group(CommunicatorKind kind, const std::vector<Seated>& seats, const Router& router) {
  std::vector<DeviceId> members;
  std::vector<int> cells;
  for (const Seated& seated : seats) {
    members.push_back(seated.device);
    if (std::ranges::find(cells, seated.cell) == cells.end()) cells.push_back(seated.cell);
  }
  return ring_of(kind, std::move(members), std::move(cells), router);
}

void add_expert_groups(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (std::size_t r = 0; r < placement.roles.size(); ++r) {
    const ExpertCut& cut = placement.roles[r].cut.experts;
    if (!cut.apart) continue;
    const std::vector<int> cells = cells_of(placement, int(r), 0, 1);
    const auto by_rank = [](const ExpertSeat& seat) { return seat.rank; };
    if (cut.ranks > 1)
      for (const auto& [place, seats] : seats_by(placement, cells, [](const ExpertSeat& s) { return std::pair(s.replica, s.slice); }, by_rank)) {
        traffic.all.push_back(seated_group(CommunicatorKind::expert, seats, router));
        widen_to_all_pairs(traffic.all.back(), router, router.cluster());
      }
    if (cut.tensor > 1)
      for (const auto& [place, seats] : seats_by(placement, cells, [](const ExpertSeat& s) { return std::pair(s.replica, s.rank); },
                                                 [](const ExpertSeat& s) { return s.slice; }))
        traffic.all.push_back(seated_group(CommunicatorKind::expert_tensor, seats, router));
  }
}

void add_expert_gradients(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (std::size_t run = 0; run < traffic.runs.size(); ++run) {
    const LayerRun& layers = traffic.runs[run];
    if (layers.expert_holders(placement) < 2 || placement.role(layers.cells.front()).zero == 3) continue;
    for (const auto& [place, seats] : seats_by(placement, layers.cells, [](const ExpertSeat& s) { return std::pair(s.rank, s.slice); },
                                               [](const ExpertSeat& s) { return s.replica; })) {
      traffic.all.push_back(seated_group(CommunicatorKind::expert_gradients, seats, router));
      traffic.all.back().run = int(run);
      traffic.all.back().expert_rank = place.first;
    }
  }
}

void add_transfers(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (std::size_t i = 0; i < placement.cells.size(); ++i)
    for (std::size_t chunk = 0; chunk < placement.role(int(i)).chunks.size(); ++chunk) {
      const std::optional<Visit> after = placement.after(placement.role(int(i)), int(chunk));
      if (!after || placement.roles[after->role].position == placement.role(int(i)).position) continue;
      for (const Partner& next : placement.partners(int(i), after->role)) {
        const Cell &here = placement.cells[i], &there = placement.cells[next.cell];
        if (here.members == there.members) continue;  // the device's own order says what waits for what
        Communicator forward = transfer(CommunicatorKind::forward_transfer, here, int(i), there, next.cell, router);
        Communicator backward = transfer(CommunicatorKind::backward_transfer, there, next.cell, here, int(i), router);
        forward.share = next.share;
        backward.share = next.share_of_own;
        forward.from_chunk = backward.to_chunk = int(chunk);
        forward.to_chunk = backward.from_chunk = after->chunk;
        traffic.all.push_back(std::move(forward));
        traffic.all.push_back(std::move(backward));
      }
    }
}

/// Cells of a role that stand on some of these devices.
std::vector<int> cells_on(const Placement& placement, int role, const std::vector<DeviceId>& devices) {
  std::vector<int> cells;
  for (int rank = 0; rank < placement.data_size[role]; ++rank) {
    const auto& members = placement.cells[placement.first_cell[role] + rank].members;
    if (std::ranges::find_first_of(members, devices) != members.end()) cells.push_back(placement.first_cell[role] + rank);
  }
  return cells;
}

void add_reshardings(CommunicatorKind kind, int from, int to, const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (Resharding& change : resharding(placement, from, to)) {
    std::vector<int> cells = cells_on(placement, from, change.members);
    for (const int cell : cells_on(placement, to, change.members)) cells.push_back(cell);
    traffic.all.push_back(ring_of(kind, std::move(change.members), std::move(cells), router));
    traffic.all.back().pattern = change.kind;
    traffic.all.back().share = change.share;
    traffic.all.back().parts = change.parts;
  }
}

void add_changes_of_layout(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (int r = 0; r < int(placement.roles.size()); ++r) {
    if (placement.roles[r].section == 0) continue;
    add_reshardings(CommunicatorKind::reshard_forward, r - 1, r, placement, router, traffic);
    add_reshardings(CommunicatorKind::reshard_backward, r, r - 1, placement, router, traffic);
  }
}

std::vector<LayerRun> layer_runs(const Placement& placement) {
  std::vector<std::vector<int>> holders(placement.module->layers.size());
  for (std::size_t i = 0; i < placement.cells.size(); ++i)
    for (const LayerId layer : placement.role(int(i)).layers) holders[index(layer)].push_back(int(i));
  std::vector<LayerRun> runs;
  for (std::size_t layer = 0; layer < holders.size(); ++layer) {
    if (runs.empty() || runs.back().cells != holders[layer]) runs.push_back({{}, holders[layer]});
    runs.back().layers.push_back(id_at<LayerId>(layer));
  }
  return runs;
}

void add_gradient_groups(const Placement& placement, const Router& router, TrafficMap& traffic) {
  traffic.runs = layer_runs(placement);
  for (std::size_t run = 0; run < traffic.runs.size(); ++run) {
    const std::vector<int>& cells = traffic.runs[run].cells;
    if (traffic.runs[run].holders(placement) < 2 || placement.role(cells.front()).zero == 3) continue;
    const int slices = traffic.runs[run].slices(placement);
    std::vector<Communicator> groups;
    for (int slice = 0; slice < slices; ++slice) {
      std::vector<DeviceId> members;
      for (const int cell : cells) {
        const LayerCut& cut = placement.role(cell).cut;
        for (const DeviceId member : members_of(placement.cells[cell], slice * cut.tensor / slices, cut.context, cut.tensor)) members.push_back(member);
      }
      groups.push_back(ring_of(CommunicatorKind::gradients, std::move(members), cells, router));
      groups.back().run = int(run);
    }
    add_together(std::move(groups), traffic);
  }
}

/// Equal places of these cells; a member of a smaller cell takes several.
void add_ranks(CommunicatorKind kind, const Placement& placement, const std::vector<int>& cells, const Router& router, TrafficMap& traffic) {
  std::size_t ranks = 1;
  for (const int cell : cells) ranks = std::max(ranks, placement.cells[cell].members.size());
  std::vector<Communicator> groups;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<DeviceId> members;
    for (const int cell : cells) {
      const auto& own = placement.cells[cell].members;
      members.push_back(own[rank * own.size() / ranks]);
    }
    groups.push_back(ring_of(kind, std::move(members), cells, router));
  }
  add_together(std::move(groups), traffic);
}

/// Neighbouring data ranks form a shard group.
void add_shard_groups(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (std::size_t r = 0; r < placement.roles.size(); ++r) {
    const int shards = placement.roles[r].shards, groups = placement.data_size[r] / shards;
    for (int g = 0; g < groups && shards > 1; ++g)
      add_ranks(CommunicatorKind::shards, placement, cells_of(placement, int(r), g, groups), router, traffic);
  }
}

/// All that hold the same experts share their states, wherever their data ranks are.
void add_expert_shards(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (std::size_t r = 0; r < placement.roles.size(); ++r) {
    if (placement.roles[r].zero < 3 || !placement.roles[r].cut.experts.apart) continue;
    for (const auto& [place, seats] : seats_by(placement, cells_of(placement, int(r), 0, 1), [](const ExpertSeat& s) { return std::pair(s.rank, s.slice); },
                                               [](const ExpertSeat& s) { return s.replica; })) {
      if (seats.size() < 2) continue;
      traffic.all.push_back(seated_group(CommunicatorKind::expert_shards, seats, router));
      traffic.all.back().expert_rank = place.first;
    }
  }
}

/// Whoever holds one part of the common refinement of a run's tensor cuts and shards: equal places in the shard groups of a stage, context
/// ranks, and other pipelines.
std::vector<DeviceId> holders_of(const Placement& placement, const LayerRun& run, int slice, int slices, int part, int parts) {
  std::vector<DeviceId> holders;
  for (const int cell : run.cells) {
    const StageRole& role = placement.role(cell);
    if (placement.cells[cell].data_rank % role.shards != part * role.shards / parts) continue;
    for (const DeviceId member : members_of(placement.cells[cell], slice * role.cut.tensor / slices, role.cut.context, role.cut.tensor))
      holders.push_back(member);
  }
  return holders;
}

/// Replicas add up the gradients of their shards.
void add_replica_groups(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (std::size_t r = 0; r < traffic.runs.size(); ++r) {
    const LayerRun& run = traffic.runs[r];
    if (placement.role(run.cells.front()).zero != 3) continue;
    std::vector<Communicator> groups;
    const int slices = run.slices(placement), parts = run.shards(placement);
    for (int slice = 0; slice < slices; ++slice)
      for (int part = 0; part < parts; ++part) {
        std::vector<DeviceId> holders = holders_of(placement, run, slice, slices, part, parts);
        if (holders.size() < 2) continue;
        groups.push_back(ring_of(CommunicatorKind::replicas, holders, {}, router));
        groups.back().run = int(r);
        for (const int cell : run.cells)
          if (std::ranges::find_first_of(placement.cells[cell].members, holders) != placement.cells[cell].members.end()) groups.back().cells.push_back(cell);
      }
    add_together(std::move(groups), traffic);
  }
}

/// First and last stage of a pipeline each hold a shared table and add their gradients up, rank by rank; where one has more replicas
/// than the other, as many as share samples.
void add_tied_tables(const Placement& placement, const Router& router, TrafficMap& traffic) {
  const Module& module = *placement.module;
  const bool tied = std::ranges::any_of(module.layers, [](const Layer& layer) { return !layer.tied_to.empty(); });
  if (!tied) return;
  for (std::size_t r = 0; r < placement.roles.size(); ++r) {
    const StageRole& role = placement.roles[r];
    if (role.position != 0 || role.section != 0 || role.stages == 1) continue;
    const int last = placement.routes[role.pipeline].back().role;
    const int groups = std::gcd(placement.data_size[r], placement.data_size[last]);
    for (int g = 0; g < groups; ++g) {
      std::vector<int> cells = cells_of(placement, int(r), g, groups);
      for (const int cell : cells_of(placement, last, g, groups)) cells.push_back(cell);
      add_ranks(CommunicatorKind::tied_embedding, placement, cells, router, traffic);
    }
  }
}

bool treats_nodes_apart(const Wire& wire) {
  return wire.all_reduce == Algorithm::hierarchical || wire.all_reduce == Algorithm::in_network;
}

/// Of groups that advance together the first stands for all.
void add_insides(const Placement& placement, const Router& router, TrafficMap& traffic) {
  for (Communicator& group : traffic.all) {
    if (group.nodes < 2 || !treats_nodes_apart(placement.role(group.cells.front()).wire)) continue;
    const std::size_t ring = std::size_t(group.ring_members > 0 ? group.ring_members : int(group.members.size()));
    const std::vector<DeviceId> inside = router.rings(std::span(group.members).first(ring)).beside_first;
    if (inside.empty()) continue;
    const RingUse use = router.rings(inside);
    if (use.nodes == 1) group.inside = InnerRing{int(inside.size()), use.rings, use.links, use.transport};
  }
}

}  // namespace

std::optional<LayerGroup> axis_of(CommunicatorKind kind) {
  switch (kind) {
    case CommunicatorKind::tensor: return LayerGroup::tensor;
    case CommunicatorKind::context: return LayerGroup::context;
    case CommunicatorKind::rows: return LayerGroup::rows;
    case CommunicatorKind::columns: return LayerGroup::columns;
    case CommunicatorKind::inner: return LayerGroup::inner;
    case CommunicatorKind::expert: return LayerGroup::expert;
    case CommunicatorKind::expert_tensor: return LayerGroup::expert_tensor;
    default: return std::nullopt;
  }
}

int LayerRun::slices(const Placement& placement) const {
  int slices = 1, role = -1;
  for (const int cell : cells)
    if (std::exchange(role, placement.role_of[cell]) != placement.role_of[cell]) slices = std::lcm(slices, placement.role(cell).cut.tensor);
  return slices;
}

int LayerRun::shards(const Placement& placement) const {
  int shards = 1;
  for (const int cell : cells) shards = std::lcm(shards, placement.role(cell).shards);
  return shards;
}

bool LayerRun::held_by(int cell) const { return std::ranges::binary_search(cells, cell); }

int LayerRun::holders(const Placement& placement) const {
  int holders = 0;
  for (const int cell : cells) holders += placement.role(cell).cut.context;
  return holders;
}

int LayerRun::expert_holders(const Placement& placement) const {
  int holders = 0;
  for (const int cell : cells) {
    const StageRole& role = placement.role(cell);
    if (role.cut.experts.apart) holders += int(placement.cells[cell].members.size());
  }
  return holders / std::max(1, placement.role(cells.front()).cut.experts.ranks * placement.role(cells.front()).cut.experts.tensor);
}

CollectiveShape Communicator::shape(CollectiveKind kind_of_collective) const {
  CollectiveShape shape;
  shape.kind = kind_of_collective;
  shape.members = ring_members > 0 ? ring_members : static_cast<int>(members.size());
  shape.hops = kind_of_collective == CollectiveKind::send ? 1 : hops;
  shape.rings = rings;
  shape.hop_latency = hop_latency;
  return shape;
}

TrafficMap traffic_of(const Placement& placement, const Router& router) {
  TrafficMap traffic;
  add_cell_groups(placement, router, traffic);
  add_expert_groups(placement, router, traffic);
  add_transfers(placement, router, traffic);
  add_changes_of_layout(placement, router, traffic);
  add_gradient_groups(placement, router, traffic);
  add_expert_gradients(placement, router, traffic);
  add_shard_groups(placement, router, traffic);
  add_expert_shards(placement, router, traffic);
  add_replica_groups(placement, router, traffic);
  add_tied_tables(placement, router, traffic);
  add_insides(placement, router, traffic);
  return traffic;
}

}  // namespace trainyard
