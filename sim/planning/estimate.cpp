#include "sim/planning/estimate.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "sim/cost/collective_uneven.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/memory.hpp"
#include "sim/cost/resharding.hpp"
#include "sim/cost/slice_order.hpp"
#include "sim/cost/stage_work.hpp"
#include "sim/planning/link_times.hpp"

namespace trainyard {
namespace {

Seconds total(const std::vector<TimedPiece>& pieces) { return pass_time(pieces, LayerCut{}); }

void append(std::vector<TimedPiece>& to, const std::vector<TimedPiece>& from) { to.insert(to.end(), from.begin(), from.end()); }

/// How much of the other stages' passes a stage waits for at the ends of a step, and how many pipelines its devices work for.
struct Ramp {
  double share = 1;
  int pipelines = 1;
};

/// With F = B = W: zb_h1 waits for a third of each pass, zb_v for nothing (arXiv 2401.10241, Table 2), dualpipe for a third
/// of p/2 - 1 passes (arXiv 2412.19437, Table 2, without overlap of F and B).
Ramp ramp_of(const std::string& schedule, int stages) {
  if (schedule == "zb_h1") return {1.0 / 3, 1};
  if (schedule == "zb_v") return {0, 1};
  if (schedule == "dualpipe") return {(stages / 2 - 1) / 3.0 / (stages - 1), 2};
  return {};
}

class Estimator {
 public:
  Estimator(const Plan& plan, const Cluster& cluster, const Workload& workload, const Router& router)
      : cluster_(cluster), workload_(workload), router_(router), placement_(place(plan, workload)) {
    for (std::size_t i = 0; i < placement_.cells.size(); ++i) {
      for (const LayerId layer : placement_.role(int(i)).layers) holders_[layer].push_back(int(i));
      for (const DeviceId member : placement_.cells[i].members) cells_on_[member].push_back(int(i));
    }
  }

  std::vector<StageMemory> memory_by_stage() const {
    std::vector<StageMemory> stages;
    for (std::size_t r = 0; r < placement_.roles.size(); ++r) {
      if (placement_.roles[r].section > 0) continue;
      stages.push_back({placement_.roles[r].pipeline, placement_.roles[r].position, {}});
      keep_fullest(int(r), stages.back().memory);
    }
    return stages;
  }

  StepEstimate estimate() {
    StepEstimate estimate;
    std::map<int, std::vector<int>> pipelines;
    for (std::size_t r = 0; r < placement_.roles.size(); ++r) pipelines[placement_.roles[r].pipeline].push_back(int(r));
    Seconds tail{};
    for (const auto& [pipeline, roles] : pipelines) {
      Seconds sum{}, slowest{}, stage{}, stage_tail{}, encoder{};
      for (const int role : roles) {
        const StageTimes times = stage_times(role);
        const bool begins = placement_.roles[role].section == 0;
        stage = (begins ? Seconds(0) : stage + resharding_time(role)) + times.forward + times.backward + times.transfer;
        stage_tail = (begins ? Seconds(0) : stage_tail) + exposed_exchange(role, times) + update_time(role);
        if (placement_.roles[role].section + 1 < placement_.roles[role].sections) continue;
        tail = std::max(tail, stage_tail);
        keep_fullest(role, estimate.memory);
        if (placement_.part->schedule == "colocated" && placement_.roles[role].position == 0) {
          encoder = stage;
          continue;
        }
        sum += stage / double(placement_.roles[role].chunks.size());
        slowest = std::max(slowest, stage);
      }
      const StageRole& first = placement_.roles[roles.front()];
      const Ramp ramp = ramp_of(placement_.part->schedule, first.stages);
      const Seconds others = (sum - slowest / double(first.chunks.size())) * ramp.share;
      estimate.step_time = std::max(estimate.step_time, others + (slowest * double(ramp.pipelines) + encoder) * double(first.micro_batches));
    }
    estimate.step_time += tail;
    return estimate;
  }

 private:
  struct StageTimes {
    Seconds forward{}, backward{}, transfer{};
  };

  /// The slowest data rank of a stage sets its pace; ranks of equal device types and samples have equal times.
  StageTimes stage_times(int role) const {
    StageTimes slowest;
    std::map<std::pair<std::vector<DeviceTypeId>, double>, bool> seen;
    for (int rank = 0; rank < placement_.data_size[role]; ++rank) {
      const int cell = placement_.first_cell[role] + rank;
      if (!seen.emplace(std::pair(types_of(cell), placement_.role(cell).cut.sequences), true).second) continue;
      const StageTimes times = cell_times(cell);
      if (times.forward + times.backward > slowest.forward + slowest.backward) slowest = times;
    }
    return slowest;
  }

  /// The first members of a cell, `stride` apart: its first tensor or context group.
  std::vector<DeviceId> members_of(int cell, int count, int stride) const {
    std::vector<DeviceId> members;
    for (int i = 0; i < count; ++i) members.push_back(placement_.cells[cell].members[i * stride]);
    return members;
  }

  /// Devices of the stage that sit in one group of experts with the cell's first.
  template <class Together>
  std::vector<DeviceId> seated_with(int cell, Together together) const {
    std::vector<DeviceId> members;
    const int role = placement_.role_of[cell];
    if (!placement_.roles[role].cut.experts.apart) return members;
    for (int rank = 0; rank < placement_.data_size[role]; ++rank) {
      const Cell& other = placement_.cells[placement_.first_cell[role] + rank];
      for (std::size_t m = 0; m < other.members.size(); ++m)
        if (together(placement_.cells[cell].seats.front(), other.seats[m])) members.push_back(other.members[m]);
    }
    return members;
  }

  /// Devices that hold the same experts.
  std::vector<DeviceId> expert_holders_of(LayerId layer, const ExpertSeat& seat) const {
    std::vector<DeviceId> members;
    for (const int cell : holders_.at(layer))
      for (std::size_t m = 0; m < placement_.cells[cell].seats.size(); ++m)
        if (placement_.cells[cell].seats[m].rank == seat.rank && placement_.cells[cell].seats[m].slice == seat.slice)
          members.push_back(placement_.cells[cell].members[m]);
    return members;
  }

  int expert_holders_of(const StageRole& role, LayerId layer) const {
    if (!role.cut.experts.apart) return 0;
    int holders = 0;
    for (const int cell : holders_.at(layer)) holders += int(placement_.cells[cell].members.size());
    return holders / (role.cut.experts.ranks * role.cut.experts.tensor);
  }

  int holders_of(LayerId layer) const {
    const std::vector<int>& cells = holders_.at(layer);
    return int(cells.size()) * placement_.role(cells.front()).cut.context;
  }

  bool comes_from_elsewhere(const StageRole& role, const std::optional<Visit>& from) const {
    return from && placement_.roles[from->role].position != role.position;
  }

  std::vector<DeviceTypeId> types_of(int cell) const {
    std::vector<DeviceTypeId> types;
    for (const DeviceId member : placement_.cells[cell].members) types.push_back(cluster_.devices[index(member)].type);
    return types;
  }

  /// All lines of a grid along one axis.
  std::vector<std::vector<DeviceId>> lines_of(int cell, int size, int stride) const {
    const std::vector<DeviceId>& members = placement_.cells[cell].members;
    std::vector<std::vector<DeviceId>> lines;
    for (int at = 0; at < int(members.size()); ++at)
      if (at / stride % size == 0) {
        lines.emplace_back();
        for (int i = 0; i < size; ++i) lines.back().push_back(members[at + i * stride]);
      }
    return lines;
  }

  CellGroups groups_of(int cell) const {
    const LayerCut& cut = placement_.role(cell).cut;
    const ProductGrid& grid = cut.grid;
    const auto ring = [&](int size, int stride) { return ring_group(router_, cluster_, members_of(cell, size, stride)); };
    const auto lines = [&](int size, int stride) { return first_of_rings(router_, cluster_, lines_of(cell, size, stride)); };
    if (grid.members() > 1)
      return {{}, {}, lines(grid.rows, grid.columns * grid.inner), lines(grid.columns, grid.inner), lines(grid.inner, 1), {}, {}};
    const auto seated = [&](auto together) { return ring_group(router_, cluster_, seated_with(cell, together)); };
    return {ring(cut.tensor, 1), ring(cut.context, cut.tensor), {}, {}, {},
            seated([](const ExpertSeat& a, const ExpertSeat& b) { return a.replica == b.replica && a.slice == b.slice; }),
            seated([](const ExpertSeat& a, const ExpertSeat& b) { return a.replica == b.replica && a.rank == b.rank; })};
  }

  static void add_layers(const StageWork& work, StageTimes& times) {
    for (const LayerPieces& layer : work.layers) {
      times.forward += total(layer.forward);
      times.backward += total(layer.recompute) + total(layer.backward);
    }
  }

  /// Slices hide collectives behind the kernels of other layers, too, so that a pass has a time only as a whole.
  static void add_slices(const StageWork& work, const LayerCut& cut, StageTimes& times) {
    std::vector<TimedPiece> forward, backward;
    for (const LayerPieces& layer : work.layers) append(forward, layer.forward);
    for (auto layer = work.layers.rbegin(); layer != work.layers.rend(); ++layer) {
      append(backward, layer->recompute);
      append(backward, layer->backward);
    }
    times.forward += pass_time(forward, cut);
    times.backward += pass_time(backward, cut);
  }

  StageTimes cell_times(int cell) const {
    const StageRole& role = placement_.role(cell);
    const StageWork work = stage_work(placement_.cells[cell], role, *placement_.module, cluster_, workload_, groups_of(cell));
    StageTimes times;
    const Seconds receive = total(work.receive);
    for (std::size_t c = 0; c < role.chunks.size(); ++c) {
      if (comes_from_elsewhere(role, placement_.before(role, int(c)))) times.forward += receive;
      if (comes_from_elsewhere(role, placement_.after(role, int(c)))) times.backward += receive;
    }
    if (role.cut.slices == Slices{})
      add_layers(work, times);
    else
      add_slices(work, role.cut, times);
    // A message holds both its ends, and both directions of a link are busy at once.
    if (role.position + 1 < role.stages && role.section + 1 == role.sections) times.transfer += transfer_time(cell);
    if (role.position > 0 && role.section == 0) times.transfer += transfer_time(sender_to(cell));
    return times;
  }

  /// The exchanges of activations with the section before, there and back.
  Seconds resharding_time(int role) const {
    Seconds both{};
    const Bytes activations = micro_batch_activations(placement_, role - 1, role, workload_.precision);
    for (const auto& [from, to] : {std::pair{role - 1, role}, {role, role - 1}}) {
      Seconds slowest{};
      for (const Resharding& change : resharding(placement_, from, to))
        slowest = std::max(slowest, change_time(change, activations, placement_.roles[from].wire.all_gather));
      both += slowest;
    }
    return both;
  }

  Seconds change_time(const Resharding& change, Bytes activations, Algorithm gather) const {
    RingGroup ring = ring_group(router_, cluster_, change.members);
    if (change.parts.empty()) return collective_time(ring, change.kind, activations * change.share);
    std::vector<Bytes> parts;
    for (const double part : change.parts) parts.push_back(activations * part);
    ring.shape.kind = change.kind;
    return uneven_cost(ring.shape, ring.transport, parts, gather).alone(ring.shape.ring_rate);
  }

  /// A cell of the stage before whose samples come here.
  int sender_to(int cell) const {
    const StageRole& role = placement_.role(cell);
    const int first = placement_.role_at(role.pipeline, role.position - 1);
    return placement_.partners(cell, first + placement_.roles[first].sections - 1).front().cell;
  }

  Seconds transfer_time(int cell) const {
    const StageRole& role = placement_.role(cell);
    const Partner next = placement_.partners(cell, placement_.role_at(role.pipeline, role.position + 1)).front();
    const auto &senders = placement_.cells[cell].members, &receivers = placement_.cells[next.cell].members;
    // All of a cell's samples pass its port, and those of several senders the receiver's.
    const double crowd = std::max(1.0, double(placement_.data_size[placement_.role_of[cell]]) / placement_.data_size[placement_.role_of[next.cell]]);
    const LayerId last = role.chunks.front().back();
    const Bytes size = transfer_bytes(role, *placement_.module, workload_, last, int(senders.size()), int(receivers.size())) * crowd;
    return trainyard::transfer_time(router_, cluster_, senders.front(), receivers.front(), size);
  }

  /// Groups of the same holders exchange together; an overlapped exchange hides behind the last backward pass but for
  /// its last bucket.
  Seconds exposed_exchange(int role_id, const StageTimes& times) const {
    const StageRole& role = placement_.roles[role_id];
    if (role.zero == 3) return exposed_shards(role_id, times);
    std::map<std::vector<int>, std::vector<LayerId>> groups;
    for (const LayerId layer : role.layers) groups[holders_.at(layer)].push_back(layer);
    Seconds reduce{}, gather{};
    for (const auto& [cells, layers] : groups) {
      if (holders_of(layers.front()) < 2) continue;
      std::vector<DeviceId> members;
      for (const int cell : cells)
        for (const DeviceId member : members_of(cell, placement_.role(cell).cut.context, placement_.role(cell).cut.tensor)) members.push_back(member);
      const RingGroup ring = ring_group(router_, cluster_, members);
      const auto [expert_reduce, expert_gather] = expert_exchange(role, cells.front(), layers);
      reduce += expert_reduce * double(role.zero == 2 ? role.micro_batches : 1);
      gather += expert_gather;
      const double parameters = trained_dense_parameters(*placement_.module, layers, role.cut);
      if (parameters == 0) continue;
      if (std::ranges::any_of(cells, [&](int cell) { return placement_.role(cell).cut.tensor > role.cut.tensor; }))
        reduce += relayout_kernel(placement_.cells[placement_.first_cell[role_id]], cluster_, parameters, role.gradient_type(workload_.software)).alone * 2.0;
      const Bytes gradients = element_size(role.gradient_type(workload_.software)) * parameters;
      reduce += collective_time(ring, role.zero >= 1 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, gradients) *
                double(role.zero == 2 ? role.micro_batches : 1);
      if (role.zero >= 1)
        gather += collective_time(ring, CollectiveKind::all_gather, element_size(workload_.precision) * parameters);
    }
    const double hidden = double(role.layers.size() - 1) / double(role.layers.size());
    if (workload_.software.overlap_gradient_reduce)
      reduce = std::max(reduce - times.backward * hidden * double(role.zero == 2 ? role.micro_batches : 1), reduce * (1 - hidden));
    if (workload_.software.overlap_weight_gather)
      gather = std::max(gather - times.forward * hidden, gather * (1 - hidden));
    return reduce + gather;
  }

  /// Reduction of the gradients of experts that are cut apart, and the gather of their weights.
  std::pair<Seconds, Seconds> expert_exchange(const StageRole& role, int cell, const std::vector<LayerId>& layers) const {
    const double parameters = trained_expert_parameters(*placement_.module, layers, role.cut);
    if (parameters == 0 || expert_holders_of(role, layers.front()) < 2) return {};
    const RingGroup ring = ring_group(router_, cluster_, expert_holders_of(layers.front(), placement_.cells[cell].seats.front()));
    const CollectiveKind kind = role.zero >= 1 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    const Seconds gather = role.zero >= 1 ? collective_time(ring, CollectiveKind::all_gather, element_size(workload_.precision) * parameters) : Seconds(0);
    return {collective_time(ring, kind, element_size(role.gradient_type(workload_.software)) * parameters), gather};
  }

  /// Weights are gathered and gradients scattered for every micro-batch, beside its kernels but for the first layer's gather.
  Seconds exposed_shards(int role_id, const StageTimes& times) const {
    const StageRole& role = placement_.roles[role_id];
    std::vector<DeviceId> members;
    for (int rank = 0; rank < role.shards; ++rank)
      members.push_back(placement_.cells[placement_.first_cell[role_id] + rank].members.front());
    const RingGroup ring = ring_group(router_, cluster_, members);
    Seconds gather{}, scatter{};
    const auto add = [&](const RingGroup& among, double parameters, double trained) {
      if (parameters > 0) gather += collective_time(among, CollectiveKind::all_gather, element_size(workload_.precision) * parameters);
      if (trained > 0)
        scatter += collective_time(among, CollectiveKind::reduce_scatter, element_size(role.gradient_type(workload_.software)) * trained);
    };
    for (const LayerId layer : role.layers) {
      const std::span own(&layer, 1);
      const double experts = expert_parameters_on_device(*placement_.module, own, role.cut);
      add(ring, parameters_on_device(*placement_.module, own, role.cut) - experts, trained_dense_parameters(*placement_.module, own, role.cut));
      if (experts > 0 && expert_holders_of(role, layer) > 1)
        add(ring_group(router_, cluster_, expert_holders_of(layer, placement_.cells[std::size_t(placement_.first_cell[std::size_t(role_id)])].seats.front())),
            experts, trained_expert_parameters(*placement_.module, own, role.cut));
    }
    if (role.stays_whole(workload_.software))
      return std::max(Seconds(0), gather - times.forward) + std::max(Seconds(0), scatter - times.backward) + gather / double(role.layers.size());
    const Seconds ahead = std::max(Seconds(0), gather - times.forward) + std::max(Seconds(0), gather * double(role.regather) + scatter - times.backward);
    return ahead * double(role.micro_batches) + gather / double(role.layers.size());
  }

  Seconds update_time(int role_id) const {
    const StageRole& role = placement_.roles[role_id];
    if (workload_.optimizer == "none") return Seconds(0);
    double parameters = 0;
    for (const LayerId layer : role.layers)
      parameters += trained_dense_parameters(*placement_.module, std::span(&layer, 1), role.cut) /
                        (role.zero == 3 ? role.shards : role.zero >= 1 ? holders_of(layer) : 1) +
                    trained_expert_parameters(*placement_.module, std::span(&layer, 1), role.cut) /
                        (role.zero >= 1 ? std::max(1, expert_holders_of(role, layer)) : 1);
    const DeviceId member = placement_.cells[placement_.first_cell[role_id]].members.front();
    return adam_time(cluster_.type_of(member), parameters, workload_.software.gradient_type);
  }

  /// Devices of one type hold the same, except where shares are unequal.
  void keep_fullest(int role_id, MemoryReport& fullest) const {
    std::map<std::tuple<DeviceTypeId, double, double>, DeviceId> members;
    for (int rank = 0; rank < placement_.data_size[role_id]; ++rank) {
      const int cell = placement_.first_cell[role_id] + rank;
      for (std::size_t i = 0; i < placement_.cells[cell].members.size(); ++i) {
        const DeviceId member = placement_.cells[cell].members[i];
        const LayerCut cut = placement_.role(cell).cut_on(i);
        members.emplace(std::tuple(cluster_.devices[index(member)].type, cut.sequences, cut.part), member);
      }
    }
    for (const auto& [kind, member] : members) {
      const MemoryReport memory = memory_of(role_id, member);
      if (fullest.capacity.value == 0 || memory.peak / memory.capacity > fullest.peak / fullest.capacity)
        fullest = memory;
    }
  }

  /// What the device holds for this stage and for the other stages that it may also work for.
  MemoryReport memory_of(int role_id, DeviceId member) const {
    const DeviceType& type = cluster_.type_of(member);
    MemoryReport memory{
        cluster_.devices[index(member)].name, Bytes(0), cluster_.devices[index(member)].memory, {}, Seconds(0)};
    for (const int cell : cells_on_.at(member)) {
      const auto& members = placement_.cells[cell].members;
      const StageRole role = placement_.role(cell).in_largest();
      add_memory(role, role.cut_on(std::size_t(std::ranges::find(members, member) - members.begin())), type, memory);
    }
    for (const Bytes part : memory.at_peak) memory.peak += part;
    memory.at_peak[std::size_t(MemoryClass::reserved)] = reserved_memory(type, memory.peak, placement_.roles[role_id].cut.tensor);
    memory.peak += memory.at_peak[std::size_t(MemoryClass::reserved)];
    return memory;
  }

  void add_memory(const StageRole& role, const LayerCut& cut, const DeviceType& type, MemoryReport& memory) const {
    const int holders = role.zero == 3 ? state_parts(role.shards, cut, workload_.software) : holders_of(role.layers.front());
    std::vector<LayerCut> cuts;
    for (std::size_t i = 0; i < role.layers.size(); ++i) {
      cuts.push_back(role.cut_of(i));
      cuts.back().part = cut.part;
    }
    StaticMemory held = static_memory(*placement_.module, role.layers, cut, workload_, holders, role.zero, expert_holders_of(role, role.layers.front()));
    if (role.stays_whole(workload_.software)) keep_whole(held, *placement_.module, role.layers, cut, workload_);
    if (role.zero < 3) held.buffers += flat_gradients(*placement_.module, role.layers, cut, workload_);
    const ActivationMemory activations = activation_memory(*placement_.module, role.layers, cut, type, workload_, role.recompute, cuts);
    const Bytes transient = std::max(activations.forward_peak - activations.kept, activations.backward_peak);
    const Bytes kept = activations.kept * (double(role.in_flight) / double(role.chunks.size())) + transient;
    for (const auto& [kind, bytes] : {std::pair{MemoryClass::weights, held.weights}, {MemoryClass::gradients, held.gradients},
                                      {MemoryClass::optimizer, held.optimizer}, {MemoryClass::activations, kept}, {MemoryClass::buffers, held.buffers}})
      memory.at_peak[std::size_t(kind)] += bytes;
  }

  const Cluster& cluster_;
  const Workload& workload_;
  const Router& router_;
  Placement placement_;
  std::map<LayerId, std::vector<int>> holders_;
  std::map<DeviceId, std::vector<int>> cells_on_;
};

}  // namespace

StepEstimate estimate_step(const Plan& plan, const Cluster& cluster, const Workload& workload, const Router& router) {
  return Estimator(plan, cluster, workload, router).estimate();
}

std::vector<StageMemory> memory_by_stage(const Plan& plan, const Cluster& cluster, const Workload& workload, const Router& router) {
  return Estimator(plan, cluster, workload, router).memory_by_stage();
}

}  // namespace trainyard
