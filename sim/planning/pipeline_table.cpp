#include "sim/planning/pipeline_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/cost/memory.hpp"
#include "sim/cost/placement.hpp"
#include "sim/cost/stage_work.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/planning/link_times.hpp"

namespace trainyard {
namespace {

const Seconds kNever(std::numeric_limits<double>::infinity());

DeviceId host_near(const Cluster& cluster, DeviceId device) {
  for (const DeviceId other : cluster.nodes[index(cluster.devices[index(device)].node)].devices)
    if (cluster.devices[index(other)].kind == DeviceKind::cpu) return other;
  return device;
}

/// Times and room of one stage's first data rank.
class StageMeter {
 public:
  StageMeter(const Plan& plan, const PlanningContext& context, const Router& router, bool same_memory)
      : context_(context), router_(router), placement_(place(plan, context.workload)), costs_(context.cluster, context.workload, router),
        memory_(memory_by_stage(plan, context.cluster, context.workload, router)) {
    for (const StageMemory& stage : memory_)
      if (same_memory) limit_ = std::max(limit_.value_or(Bytes(0)), stage.memory.peak - stage.memory.at_peak[std::size_t(MemoryClass::reserved)]);
  }

  [[nodiscard]] TableStage measure(int position) const {
    const int role_id = placement_.role_at(0, position), cell_id = placement_.first_cell[role_id];
    const StageRole& role = placement_.roles[role_id];
    const Cell& cell = placement_.cells[cell_id];
    TableStage stage;
    const auto group = [&](int count, int stride) {
      std::vector<DeviceId> members;
      for (int i = 0; i < count; ++i) members.push_back(cell.members[i * stride]);
      return ring_group(router_, context_.cluster, members);
    };
    const StageWork work = stage_work(cell, role, *placement_.module, context_.cluster, context_.workload,
                                      {group(role.cut.tensor, 1), group(role.cut.context, role.cut.tensor)});
    for (const LayerPieces& layer : work.layers) add_times(layer, stage);
    if (position + 1 < role.stages) {
      const Cell& next = placement_.cells[placement_.first_cell[placement_.role_at(0, position + 1)]];
      const Bytes size = transfer_bytes(role, *placement_.module, context_.workload, role.layers.back(), int(cell.members.size()), int(next.members.size()));
      stage.transfer = transfer_time(router_, context_.cluster, cell.members[0], next.members[0], size);
    }
    add_room(position, role, cell, stage);
    return stage;
  }

 private:
  static void add_times(const LayerPieces& layer, TableStage& stage) {
    for (const TimedPiece& piece : layer.forward) stage.forward += piece.alone();
    for (const TimedPiece& piece : layer.recompute) stage.input += piece.alone();
    for (const TimedPiece& piece : layer.backward) (piece.kind == TaskKind::weight_gradient ? stage.weight : stage.input) += piece.alone();
  }

  void add_room(int position, const StageRole& role, const Cell& cell, TableStage& stage) const {
    const DeviceId device = cell.members[0];
    const ActivationMemory pass = activation_memory(*placement_.module, role.layers, role.cut, context_.cluster.type_of(device), context_.workload, role.recompute);
    const Bytes inside = std::max(pass.forward_peak - pass.kept, pass.backward_peak);
    const Bytes usable = costs_.usable_memory(device, role.cut.tensor);
    Bytes room = std::min(usable, limit_.value_or(usable)) - inside;
    const auto own = std::ranges::find(memory_, position, &StageMemory::stage);
    for (const MemoryClass kind : {MemoryClass::weights, MemoryClass::gradients, MemoryClass::optimizer, MemoryClass::buffers})
      room = room - own->memory.at_peak[std::size_t(kind)];
    stage.passes = pass.kept > Bytes(0) ? int(std::clamp(std::floor(room / pass.kept + 1e-6), 0.0, 1e6)) : 1'000'000;
    stage.copy = transfer_time(router_, context_.cluster, device, host_near(context_.cluster, device), pass.kept);
  }

  const PlanningContext& context_;
  const Router& router_;
  Placement placement_;
  LayerCosts costs_;
  std::vector<StageMemory> memory_;
  std::optional<Bytes> limit_;           ///< of what a device holds, without its reserve
};

/// One stage while tables are filled.
struct Filling {
  int forward = 0, backward = 0, weight = 0;       ///< next micro-batch of each
  Seconds free{}, up_free{}, down_free{};          ///< compute stream, host to device, device to host
  std::vector<Seconds> arrived, gradients;         ///< [micro-batch]
  std::vector<Seconds> offloaded, reloaded;        ///< [micro-batch]: ends; never: not (yet)
  int held = 0;                                    ///< passes on the device when its compute stream is free
  std::vector<std::pair<Seconds, int>> changes;    ///< of that number, later
  StageLanes lanes;
};

class Filler {
 public:
  Filler(const std::vector<TableStage>& stages, int micro_batches, const FillRule& rule)
      : stages_(stages), count_(micro_batches), rule_(rule), filling_(stages.size()) {
    for (Filling& f : filling_) f.arrived = f.gradients = f.offloaded = f.reloaded = std::vector<Seconds>(std::size_t(count_), kNever);
    filling_.front().arrived.assign(std::size_t(count_), Seconds(0));
  }

  std::optional<PipelineTables> fill() {
    for (const TableStage& stage : stages_)
      if (stage.passes < 1) return std::nullopt;
    for (std::size_t left = stages_.size() * std::size_t(count_) * 3; left > 0; --left)
      if (!step()) return std::nullopt;
    PipelineTables tables;
    for (Filling& f : filling_) {
      tables.time = std::max(tables.time, f.free);
      tables.stages.push_back(std::move(f.lanes));
    }
    return tables;
  }

 private:
  struct Choice {
    char kind = ' ';
    Seconds start = kNever;
  };

  /// The stage that can begin something first does.
  bool step() {
    std::size_t best = 0;
    Choice chosen;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      if (const Choice choice = choose(s); choice.start < chosen.start) chosen = choice, best = s;
    if (chosen.start == kNever) return false;
    run(best, chosen);
    return true;
  }

  Choice choose(std::size_t s) const {
    const Filling& f = filling_[s];
    const Seconds back = f.backward < f.forward ? backward_start(s) : kNever, ahead = f.forward < count_ ? forward_start(s) : kNever;
    if (back <= ahead && back < kNever && (f.weight == f.backward || back <= f.free + stages_[s].weight * rule_.patience)) return {'B', back};
    if (ahead < back && (f.weight == f.backward || ahead <= f.free + stages_[s].weight * rule_.patience)) return {'F', ahead};
    return f.weight < f.backward ? Choice{'W', f.free} : Choice{};
  }

  Seconds backward_start(std::size_t s) const {
    const Filling& f = filling_[s];
    const std::size_t m = std::size_t(f.backward);
    const Seconds there = f.offloaded[m] < kNever ? f.reloaded[m] : Seconds(0);
    return std::max({f.free, f.gradients[m], there});
  }

  int most_in_flight(std::size_t s) const { return std::min(count_, int(stages_.size() - s) + rule_.ahead); }

  /// When all passes before the first on the host are done, one place stays empty for it to come back.
  Seconds forward_start(std::size_t s) const {
    const Filling& f = filling_[s];
    if (f.forward - f.backward >= most_in_flight(s) || f.arrived[std::size_t(f.forward)] == kNever) return kNever;
    const int limit = stages_[s].passes - (first_away(f) == f.weight ? 1 : 0);
    return room_from(f, std::max(f.free, f.arrived[std::size_t(f.forward)]), limit);
  }

  /// -1: none.
  static int first_away(const Filling& f) {
    for (int m = f.backward; m < f.forward; ++m)
      if (f.offloaded[std::size_t(m)] < kNever && f.reloaded[std::size_t(m)] == kNever) return m;
    return -1;
  }

  /// From when on one more pass stays within `limit`, as far as is known.
  static Seconds room_from(const Filling& f, Seconds from, int limit) {
    std::vector<std::pair<Seconds, int>> changes = f.changes;
    std::ranges::sort(changes);
    int held = f.held;
    for (const auto& [at, by] : changes)
      if (at <= from) held += by;
    if (held < limit) return from;
    for (const auto& [at, by] : changes)
      if (at > from && (held += by) < limit) return at;
    return kNever;
  }

  void run(std::size_t s, const Choice& choice) {
    Filling& f = filling_[s];
    const TableStage& stage = stages_[s];
    const int m = choice.kind == 'F' ? f.forward++ : choice.kind == 'B' ? f.backward++ : f.weight++;
    f.free = choice.start + (choice.kind == 'F' ? stage.forward : choice.kind == 'B' ? stage.input : stage.weight);
    f.lanes.compute.push_back({choice.kind, {}, m, 0});
    if (choice.kind == 'F') after_forward(s, m, choice.start);
    if (choice.kind == 'B' && s > 0) filling_[s - 1].gradients[std::size_t(m)] = f.free + stages_[s - 1].transfer;
    if (choice.kind == 'W') f.changes.emplace_back(f.free, -1);
    bring_back(f, stage);
    std::erase_if(f.changes, [&](const auto& change) {
      if (change.first > f.free) return false;
      f.held += change.second;
      return true;
    });
  }

  void after_forward(std::size_t s, int m, Seconds start) {
    Filling& f = filling_[s];
    f.changes.emplace_back(start, 1);
    if (s + 1 < stages_.size())
      filling_[s + 1].arrived[std::size_t(m)] = f.free + stages_[s].transfer;
    else
      f.gradients[std::size_t(m)] = f.free;
    if (should_leave(s, m)) offload(f, stages_[s], m);
  }

  /// A pass leaves where its way there and back is shorter than what runs until its turn comes, and where the device will be full.
  bool should_leave(std::size_t s, int m) const {
    const Filling& f = filling_[s];
    const TableStage& stage = stages_[s];
    const int waits = m - f.backward;
    const int planned = std::min(most_in_flight(s), count_);
    if (!rule_.offload || stage.passes < 2 || stage.passes >= planned || waits == 0) return false;
    const Seconds until = stage.work() * double(waits);
    const Seconds queue = std::max(f.down_free, f.free) - f.free;
    return queue + stage.copy * 2.0 <= until;
  }

  static void offload(Filling& f, const TableStage& stage, int m) {
    f.down_free = std::max(f.down_free, f.free) + stage.copy;
    f.offloaded[std::size_t(m)] = f.down_free;
    f.changes.emplace_back(f.down_free, -1);
    f.lanes.offloads.push_back({'O', {}, m, 0});
  }

  /// A pass on the host is fetched when as many passes are left before it as run during the fetch.
  void bring_back(Filling& f, const TableStage& stage) const {
    for (int m = f.backward; m < f.forward; ++m) {
      if (f.offloaded[std::size_t(m)] == kNever || f.reloaded[std::size_t(m)] < kNever) continue;
      if (stage.work() * double(m - f.backward) > stage.copy) return;
      const Seconds start = room_from(f, std::max({f.up_free, f.free, f.offloaded[std::size_t(m)]}), stage.passes);
      if (start == kNever) return;
      f.up_free = start + stage.copy;
      f.reloaded[std::size_t(m)] = f.up_free;
      f.changes.emplace_back(start, 1);
      f.lanes.reloads.push_back({{'R', {}, m, 0}, f.lanes.compute.back()});
    }
  }

  const std::vector<TableStage>& stages_;
  int count_;
  FillRule rule_;
  std::vector<Filling> filling_;
};

}  // namespace

std::variant<std::vector<TableStage>, std::string> table_stages(const Plan& plan, const PlanningContext& context, const Router& router,
                                                                bool same_memory) {
  if (plan.phases.size() != 1 || plan.phases[0].parts.size() != 1 || plan.phases[0].parts[0].pipelines.size() != 1)
    return std::string("tables are made for one pipeline (equal pipelines are one with a data axis)");
  const Part& part = plan.phases[0].parts[0];
  if (part.pipelines[0].stages.size() < 2) return std::string("tables are made for pipelines of at least 2 stages");
  for (const Stage& stage : part.stages)
    if (stage.chunks.size() != 1) return std::string("tables are made for stages of one chunk");
  const Placement placement = place(plan, context.workload);
  if (placement.roles.size() != part.stages.size()) return std::string("tables are made for stages of one layout");
  const StageMeter meter(plan, context, router, same_memory);
  std::vector<TableStage> stages;
  for (std::size_t s = 0; s < part.stages.size(); ++s) stages.push_back(meter.measure(int(s)));
  return stages;
}

std::optional<PipelineTables> fill_tables(const std::vector<TableStage>& stages, int micro_batches, const FillRule& rule) {
  return Filler(stages, micro_batches, rule).fill();
}

Plan with_tables(const Plan& plan, const PipelineTables& tables) {
  Plan made = plan;
  Part& part = made.phases[0].parts[0];
  part.schedule = "table";
  made.phases[0].lanes.clear();
  for (std::size_t s = 0; s < tables.stages.size(); ++s) {
    Stage& stage = part.stages[index(part.pipelines[0].stages[s])];
    const StageLanes& lanes = tables.stages[s];
    stage.in_flight = std::nullopt;
    const auto add = [&](const char* stream, const std::vector<Operation>& operations) {
      Lane lane{stage.devices, stream, {}};
      for (const Operation& op : operations) lane.entries.push_back({op, std::nullopt});
      if (!lane.entries.empty()) made.phases[0].lanes.push_back(std::move(lane));
    };
    add("compute", lanes.compute);
    add("d2h", lanes.offloads);
    if (lanes.offloads.empty()) continue;
    made.phases[0].lanes.push_back({stage.devices, "h2d", lanes.reloads});
    Rule host;
    host.settings.home[State::activations] = {Place::host, {}, 0, false};
    stage.rules.push_back(host);
  }
  return made;
}

}  // namespace trainyard
