#include "sim/cost/stage_work.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/cost/collective_uneven.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/measured_layer.hpp"

namespace trainyard {
namespace {

/// Does the stage send slices that the receiver must gather (neither whole activations nor sequence-parallel shards)?
bool scatters(const StageRole& role, const Module& module, const Workload& workload) {
  return !only_measured(module) && role.cut.tensor > 1 && role.cut.grid.members() == 1 && !role.cut.sequence_parallel && workload.software.pipeline_scatter_gather;
}

Bytes activation_bytes(const StageRole& role, const Module& module, const Workload& workload) {
  return element_size(workload.precision) * (role.cut.sequences * role.cut.tokens * module.hidden);
}

/// Host time of a piece where Python issues every kernel. Megatron-DeepSpeed takes 1.0 ms forward and 1.1 ms backward for a layer of
/// 15 pieces forward and 21 backward (fit of vTrain's runs on 1 to 4 nodes of A100, small hidden sizes).
constexpr Seconds kHostForward(1.0e-3 / 15), kHostBackward(1.1e-3 / 21);

/// Products and casts of experts are issued expert by expert (Transformer Engine, GroupedLinear: a GEMM and a cast each).
double issued(const TimedPiece& piece) {
  const bool apart = piece.kernel.kind == OperatorClass::grouped_gemm || piece.kernel.kind == OperatorClass::memory_bound;
  return apart ? std::max(1.0, piece.kernel.shape.batch) : 1.0;
}

/// The work of one slice, where there are several: gradients of all but the first are added to earlier ones.
LayerCut slice_of(LayerCut cut) {
  cut.sequences /= cut.slices.rows;
  cut.accumulated = 1 - (1 - cut.accumulated) / cut.slices.rows;
  return cut;
}

struct HostTime {
  Seconds device{}, host{};
};

/// Collectives of slices hide behind kernels, and do not give the host time to run ahead.
HostTime host_time(const std::vector<TimedPiece>& pieces, bool hides) {
  HostTime time;
  for (const TimedPiece& piece : pieces) {
    time.device += hides ? piece.kernel.alone : piece.alone();
    const bool backward = piece.kind == TaskKind::backward || piece.kind == TaskKind::weight_gradient;
    time.host += (backward ? kHostBackward : kHostForward) * issued(piece);
  }
  return time;
}

/// The host runs ahead within a layer, so the layer takes the longer of its two times: what the host needs beyond the device's.
/// `before` runs in the same go.
void wait_for_host(const std::vector<TimedPiece>& before, std::vector<TimedPiece>& pieces, TaskKind kind, bool hides) {
  const HostTime first = host_time(before, hides), second = host_time(pieces, hides);
  const Seconds device = first.device + second.device, host = first.host + second.host;
  if (host > device) pieces.push_back({kind, "host", {OperatorClass::host, {}, {}, {}, host - device}, std::nullopt, LayerGroup::tensor, {}});
}

class PieceTimer {
 public:
  PieceTimer(const CellGroups& groups, const Wire& wire, double share, int nodes) : groups_(groups), wire_(wire), share_(share), nodes_(nodes) {}

  [[nodiscard]] TimedPiece timed(const Piece& piece) const {
    TimedPiece timed{piece.kind, piece.name, piece.kernel.value_or(Kernel{}), std::nullopt, LayerGroup::tensor, {}, 0, piece.behind};
    if (piece.collective) price(*piece.collective, timed);
    return timed;
  }

  [[nodiscard]] TimedPiece gather(Bytes size) const {
    TimedPiece timed{TaskKind::tensor, "gather", {}, std::nullopt, LayerGroup::tensor, {}};
    price({CollectiveKind::all_gather, size, LayerGroup::tensor}, timed);
    return timed;
  }

 private:
  void price(const LayerCollective& collective, TimedPiece& timed) const {
    const RingGroup& group = groups_.of(collective.group);
    CollectiveShape shape = group.shape;
    shape.kind = collective.kind;
    timed.group = collective.group;
    timed.collective = is_regular(collective) ? collective_cost(shape, group.transport, collective.size * share_sent(collective, shape))
                                                    : by_wire(shape, group.transport, collective.size);
    timed.collective_alone = timed.collective->alone(group.together_rate);
    timed.share = share_;
  }

  /// The Plan's `wire.all_gather` is for the blocks of a grid: `grouped` are SUMMA's broadcasts, one a member (and its reductions).
  bool is_regular(const LayerCollective& collective) const {
    const bool on_grid = collective.group == LayerGroup::rows || collective.group == LayerGroup::columns || collective.group == LayerGroup::inner;
    return !on_grid || collective.kind == CollectiveKind::all_reduce || wire_.all_gather == Algorithm::automatic;
  }

  CollectiveCost by_wire(const CollectiveShape& shape, const Transport& transport, Bytes size) const {
    const std::vector<Bytes> parts(std::size_t(shape.members), size / double(shape.members));
    return uneven_cost(shape, transport, parts, wire_.all_gather);
  }

  /// Of the copies of a token those that cross between nodes where it goes to each node once: of k experts drawn from n nodes
  /// n (1 - (1 - 1/n)^k) nodes. Source: DeepSeek-V3, arXiv 2412.19437 §3.2.2.
  [[nodiscard]] double share_sent(const LayerCollective& collective, const CollectiveShape& shape) const {
    const bool several_nodes = shape.hops < shape.members;
    if (collective.copies == 0 || !several_nodes) return 1;
    const double nodes = nodes_ > 0 ? std::min(nodes_, shape.hops) : shape.hops;
    return nodes * (1 - std::pow(1 - 1 / nodes, collective.copies)) / collective.copies;
  }

  const CellGroups& groups_;
  const Wire& wire_;
  double share_;
  int nodes_;                            ///< most that a token's experts lie on; 0: any
};

/// Layers that take equally long: type, recompute, and the load, number and greatest load of experts.
using LayerKind = std::tuple<LayerTypeId, RecomputeKind, double, double, double>;

/// A task on several devices ends when the slowest has ended: the largest share counts.
double largest_share(const Cell& cell, const Cluster& cluster) {
  double share = 0;
  for (const DeviceId device : cell.members) share = std::max(share, cluster.type_of(device).collective_share);
  return share;
}

/// A device type, how much slower than it a device is, and its part of an unequal tensor axis.
struct Speed {
  DeviceTypeId type{};
  double slowdown = 1, part = 0;
  friend bool operator==(const Speed&, const Speed&) = default;
};

std::vector<Speed> distinct_speeds(const Cell& cell, const StageRole& role, const Cluster& cluster) {
  std::vector<Speed> speeds;
  for (std::size_t member = 0; member < cell.members.size(); ++member) {
    const Device& device = cluster.devices[index(cell.members[member])];
    const Speed speed{device.type, device.slowdown, role.cut_on(member).part};
    if (std::ranges::find(speeds, speed) == speeds.end()) speeds.push_back(speed);
  }
  return speeds;
}

/// Piece by piece the slowest type. All types have the same pieces, except where only some run attention unfused; then the
/// longest list stands, with the others' total spread no further.
void keep_slower(std::vector<Piece>& slowest, const std::vector<Piece>& other) {
  if (slowest.size() != other.size()) {
    const auto total = [](const std::vector<Piece>& pieces) {
      Seconds sum{};
      for (const Piece& piece : pieces) sum += piece.kernel ? piece.kernel->alone : Seconds(0);
      return sum;
    };
    if (total(other) > total(slowest)) slowest = other;
    return;
  }
  for (std::size_t i = 0; i < slowest.size(); ++i)
    if (other[i].kernel && other[i].kernel->alone > slowest[i].kernel->alone) slowest[i].kernel = other[i].kernel;
}

void keep_notes(const std::vector<std::string>& from, std::vector<std::string>& to) {
  for (const std::string& note : from)
    if (std::ranges::find(to, note) == to.end()) to.push_back(note);
}

LayerWork work_at(const Speed& speed, const LayerType& layer, LayerCut cut, const Cluster& cluster, const Workload& workload) {
  cut.part = speed.part;
  LayerWork work = layer_work(layer, cut, cluster.device_types[index(speed.type)], workload.precision, workload.software);
  for (std::vector<Piece>* pieces : {&work.forward, &work.recompute, &work.backward})
    for (Piece& piece : *pieces)
      if (piece.kernel) piece.kernel->alone = piece.kernel->alone * speed.slowdown;
  return work;
}

LayerWork slowest_work(const LayerType& layer, const LayerCut& cut, const std::vector<Speed>& speeds, const Cluster& cluster,
                       const Workload& workload) {
  LayerWork work = work_at(speeds.front(), layer, cut, cluster, workload);
  for (std::size_t i = 1; i < speeds.size(); ++i) {
    const LayerWork other = work_at(speeds[i], layer, cut, cluster, workload);
    keep_slower(work.forward, other.forward);
    keep_slower(work.recompute, other.recompute);
    keep_slower(work.backward, other.backward);
    keep_notes(other.notes, work.notes);
  }
  return work;
}

}  // namespace

const RingGroup& CellGroups::of(LayerGroup group) const {
  switch (group) {
    case LayerGroup::context: return context;
    case LayerGroup::rows: return rows;
    case LayerGroup::columns: return columns;
    case LayerGroup::inner: return inner;
    case LayerGroup::expert: return expert;
    case LayerGroup::expert_tensor: return expert_tensor;
    default: return tensor;
  }
}

Seconds TimedPiece::alone() const {
  if (behind) return kernel.alone + collective_alone;
  if (!collective || kernel.alone <= Seconds(0)) return std::max(kernel.alone, collective_alone);
  return std::max(collective_alone, kernel.alone + (collective_alone - collective->delay) * share);
}

Bytes transfer_bytes(const StageRole& role, const Module& module, const Workload& workload, LayerId last, int senders,
                     int receivers) {
  if (only_measured(module)) return measured_crossing(module, last) * role.cut.sequences;
  const bool sliced = role.cut.tensor > 1 && (role.cut.grid.members() > 1 || role.cut.sequence_parallel || workload.software.pipeline_scatter_gather);
  const Bytes whole = element_size(workload.precision) * role.crossing_elements(module, last);
  return sliced ? whole * (role.cut.context / double(std::max(senders, receivers))) : whole;
}

Kernel relayout_kernel(const Cell& cell, const Cluster& cluster, double parameters, DataType type) {
  const Bytes moved = element_size(type) * (2 * parameters);
  Kernel copy{OperatorClass::memory_bound, {}, {}, moved, {}};
  for (const DeviceId member : cell.members) copy.alone = std::max(copy.alone, memory_bound_time(cluster.type_of(member), moved));
  return copy;
}

StageWork stage_work(const Cell& cell, const StageRole& role, const Module& module, const Cluster& cluster, const Workload& workload,
                     const CellGroups& groups) {
  const std::vector<Speed> speeds = distinct_speeds(cell, role, cluster);
  const PieceTimer timer(groups, role.wire, largest_share(cell, cluster), role.cut.experts.nodes);
  std::map<LayerKind, LayerPieces> known;
  std::map<LayerKind, Flops> recomputed;
  StageWork work;
  for (std::size_t i = 0; i < role.layers.size(); ++i) {
    const LayerCut cut = slice_of(role.slowest_cut(i, cell));
    const LayerKind kind(module.layers[index(role.layers[i])].type, cut.recompute, cut.experts.load, cut.experts.items, cut.experts.peak);
    const LayerTypeId type = std::get<0>(kind);
    if (!known.contains(kind)) {
      const LayerWork layer = slowest_work(module.types[index(type)], cut, speeds, cluster, workload);
      LayerPieces& pieces = known[kind];
      for (const Piece& piece : layer.forward) pieces.forward.push_back(timer.timed(piece));
      for (const Piece& piece : layer.recompute) pieces.recompute.push_back(timer.timed(piece));
      for (const Piece& piece : layer.backward) pieces.backward.push_back(timer.timed(piece));
      keep_notes(layer.notes, work.notes);
      const bool measured = module.types[index(type)].profile.has_value();  // with the host's time in it
      if (workload.software.eager_host && !workload.software.cuda_graphs && !measured) {
        wait_for_host({}, pieces.forward, TaskKind::forward, cut.hides_slices);
        wait_for_host(pieces.recompute, pieces.backward, TaskKind::backward, cut.hides_slices);
      }
      recomputed[kind] = layer.recomputed * (speeds[0].part > 0 ? role.cut.context / speeds[0].part : double(cell.members.size())) * double(cut.slices.rows);
    }
    work.layers.push_back(known[kind]);
    work.layers.back().layer = role.layers[i];
    work.recomputed += recomputed[kind];
  }
  if (scatters(role, module, workload)) work.receive.push_back(timer.gather(activation_bytes(role, module, workload)));
  return work;
}

}  // namespace trainyard
