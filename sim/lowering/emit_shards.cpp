#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "sim/cost/memory.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/layer_visits.hpp"

namespace trainyard {
namespace {

/// Layers whose gathered weights a device holds at once: the one in use and the one that is fetched ahead.
constexpr std::size_t kGatheredLayers = 2;

/// A layer at work in a section whose weights are sharded.
struct ShardedUse {
  LayerUse use;
  int role = 0;
  std::size_t number = 0;                ///< in layer_uses() of its role
};

/// All traffic of the shard groups of one stage, in the order in which its devices use the layers.
class ShardWriter {
 public:
  ShardWriter(Emission& emission, std::vector<const CommunicatorClass*> groups) : emission_(emission), groups_(std::move(groups)) {
    std::set<int> roles;
    for (const CommunicatorClass* group : groups_) roles.insert(role_of(*group));
    for (const int role : roles)
      for (std::size_t number = 0; LayerUse& use : layer_uses(emission, emission.placement.roles[role])) uses_.push_back({std::move(use), role, number++});
    std::ranges::stable_sort(uses_, {}, [](const ShardedUse& use) { return use.use.op.turn; });
    for (std::size_t k = 0; k < uses_.size(); ++k) {
      const std::pair key(uses_[k].role, uses_[k].use.layer);
      first_.try_emplace(key, k);
      if (uses_[k].use.makes_gradients()) completes_[key] = k;
    }
  }

  /// Tasks that reduce each layer's gradients for the last time.
  std::map<std::pair<const CommunicatorClass*, LayerId>, TaskId> write() {
    for (std::size_t k = 0; k < uses_.size(); ++k) {
      if (k == 0) gather(k);
      const bool last = k + 1 == uses_.size(), waits = !last && starts_after_backward(k + 1);
      if (!last && !waits) gather(k + 1);  // before the reduction, which waits for this use
      if (reduces(k))
        for (const CommunicatorClass* group : groups_of(uses_[k])) reduce(*group, uses_[k]);
      if (waits) gather(k + 1);
    }
    return std::move(last_);
  }

 private:
  bool stays_whole(std::size_t k) const { return emission_.placement.roles[uses_[k].role].stays_whole(emission_.workload.software); }

  /// Where weights stay whole, the last use alone, and the first alone fetches.
  bool reduces(std::size_t k) const {
    return uses_[k].use.makes_gradients() && (!stays_whole(k) || completes_.at({uses_[k].role, uses_[k].use.layer}) == k);
  }

  bool fetches(std::size_t k) const {
    if (stays_whole(k)) return first_.at({uses_[k].role, uses_[k].use.layer}) == k;
    return uses_[k].use.op.kind == 'F' || emission_.placement.roles[uses_[k].role].regather;
  }

  int role_of(const CommunicatorClass& group) const { return emission_.placement.role_of[group.first->cells.front()]; }

  std::vector<const CommunicatorClass*> groups_of(const ShardedUse& use) const {
    std::vector<const CommunicatorClass*> own;
    std::ranges::copy_if(groups_, std::back_inserter(own), [&](const CommunicatorClass* group) { return role_of(*group) == use.role; });
    return own;
  }

  /// Cell classes of a role that stand on devices of the group.
  std::vector<int> cells_beside(const CommunicatorClass& group, int role) const {
    std::set<int> classes;
    for (int rank = 0; rank < emission_.placement.data_size[role]; ++rank) classes.insert(emission_.cell_class(emission_.placement.first_cell[role] + rank));
    std::erase_if(classes, [&](int c) {
      const auto& devices = emission_.resources.cell_devices[c];
      return std::ranges::find_first_of(devices, group.devices) == devices.end();
    });
    return {classes.begin(), classes.end()};
  }

  /// A forward pass asks for its first weights when it runs, behind what the backward pass before it has issued.
  bool starts_after_backward(std::size_t k) const { return uses_[k].use.op.kind == 'F' && uses_[k - 1].use.op.kind != 'F'; }

  static bool is_of_experts(const CommunicatorClass& group) { return group.first->kind == CommunicatorKind::expert_shards; }

  LayerCut cut_of(const CommunicatorClass& group) const {
    const StageRole& role = emission_.placement.roles[role_of(group)];
    LayerCut cut = role.cut;
    if (is_of_experts(group)) cut.experts.items = role.items[std::size_t(group.first->expert_rank)];
    return cut;
  }

  double parameters(const CommunicatorClass& group, LayerId layer) const {
    const LayerCut cut = cut_of(group);
    const double experts = expert_parameters_on_device(*emission_.placement.module, std::span(&layer, 1), cut);
    return is_of_experts(group) ? experts : parameters_on_device(*emission_.placement.module, std::span(&layer, 1), cut) - experts;
  }

  double trained(const CommunicatorClass& group, LayerId layer) const {
    const auto count = is_of_experts(group) ? trained_expert_parameters : trained_dense_parameters;
    return count(*emission_.placement.module, std::span(&layer, 1), cut_of(group));
  }

  /// That stand on a device beside what it shards, cast for their use: experts that nobody else holds.
  double unshared(const CommunicatorClass& group, LayerId layer) const {
    const auto shards_experts = [&](const CommunicatorClass* other) { return is_of_experts(*other) && role_of(*other) == role_of(group); };
    if (is_of_experts(group) || std::ranges::any_of(groups_, shards_experts)) return 0;
    return expert_parameters_on_device(*emission_.placement.module, std::span(&layer, 1), cut_of(group));
  }

  Bytes standing(const CommunicatorClass& group, LayerId layer) const {
    return element_size(emission_.workload.precision) * (parameters(group, layer) + unshared(group, layer));
  }

  TaskSpan tasks_of(const LayerUse& use, int cell_class) const { return use.tasks(emission_.cells[cell_class]); }

  void gather(std::size_t k) {
    const StageRole& role = emission_.placement.roles[uses_[k].role];
    for (const CommunicatorClass* group : groups_of(uses_[k])) {
      if (is_of_experts(*group) && parameters(*group, uses_[k].use.layer) == 0) continue;
      if (fetches(k)) fetch(*group, uses_[k], role.regather && !stays_whole(k));
      const bool frees = role.regather || uses_[k].use.makes_gradients();
      const Bytes bytes = standing(*group, uses_[k].use.layer);
      for (const int c : cell_classes_of(emission_, *group))
        if (frees) hold(*group, tasks_of(uses_[k].use, c).last, Bytes(0), -bytes, c);
    }
    if (fetches(k)) gathered_.push_back(k);
  }

  /// Not before the weights are updated, and the layer that was gathered two before is done with.
  void fetch(const CommunicatorClass& group, const ShardedUse& sharded, bool regather) {
    const LayerUse& use = sharded.use;
    const Bytes bytes = element_size(emission_.workload.precision) * parameters(group, use.layer);
    const TaskId task = add_data_exchange(emission_, group, CollectiveKind::all_gather, bytes, "gather weights", use.layer);
    hold(group, task, standing(group, use.layer), Bytes(0));
    for (const int c : cell_classes_of(emission_, group)) {
      emission_.edge(task, tasks_of(use, c).first);
      emission_.cells[c].gathers[sharded.number].push_back(task);
      if (gathered_.size() < kGatheredLayers) emission_.edge(emission_.cells[c].optimizer, task, 1);
    }
    if (gathered_.size() < kGatheredLayers || !regather) return;
    const ShardedUse& released = uses_[gathered_[gathered_.size() - kGatheredLayers]];
    for (const int c : cells_beside(group, released.role)) emission_.edge(tasks_of(released.use, c).last, task);
  }

  /// The whole layer's gradients stand in a buffer until they are scattered.
  void reduce(const CommunicatorClass& group, const ShardedUse& sharded) {
    const LayerUse& use = sharded.use;
    const DataType type = emission_.placement.roles[sharded.role].gradient_type(emission_.workload.software);
    const Bytes bytes = element_size(type) * trained(group, use.layer);
    if (bytes == Bytes(0)) return;
    const TaskId task = add_data_exchange(emission_, group, CollectiveKind::reduce_scatter, bytes, "reduce-scatter", use.layer);
    hold(group, task, bytes, -bytes);
    for (const int c : cell_classes_of(emission_, group)) {
      emission_.edge(tasks_of(use, c).last, task);
      emission_.cells[c].scatters[sharded.number].push_back(task);
    }
    last_[{&group, use.layer}] = task;
  }

  /// On the devices of the group, or of one cell class of it. What stays whole for the step is counted with the states.
  void hold(const CommunicatorClass& group, TaskId task, Bytes at_start, Bytes at_end, int cell_class = -1) {
    if (emission_.placement.roles[role_of(group)].stays_whole(emission_.workload.software)) return;
    const std::vector<int>& devices = cell_class < 0 ? group.devices : emission_.resources.cell_devices[cell_class];
    for (const int device : devices) {
      if (std::ranges::find(group.devices, device) == group.devices.end()) continue;
      emission_.lowered.graph.tasks[index(task)].memory.push_back(
          {id_at<ProcessorId>(device), MemoryClass::buffers, at_start, at_end, std::max(Bytes(0), at_start)});
    }
  }

  Emission& emission_;
  std::vector<const CommunicatorClass*> groups_;
  std::vector<ShardedUse> uses_;
  std::map<std::pair<int, LayerId>, std::size_t> first_, completes_;  ///< (role, layer) -> first use, and the last that makes gradients
  std::vector<std::size_t> gathered_;    ///< uses that were gathered for, in order
  std::map<std::pair<const CommunicatorClass*, LayerId>, TaskId> last_;
};

/// Shard groups stage by stage; a stage's sections share its devices.
std::vector<std::vector<const CommunicatorClass*>> groups_by_stage(const Emission& emission) {
  std::map<std::pair<int, int>, std::vector<const CommunicatorClass*>> stages;
  for (const CommunicatorClass& group : emission.resources.communicators) {
    if (group.first->kind != CommunicatorKind::shards && group.first->kind != CommunicatorKind::expert_shards) continue;
    const StageRole& role = emission.placement.role(group.first->cells.front());
    stages[{role.pipeline, role.position}].push_back(&group);
  }
  std::vector<std::vector<const CommunicatorClass*>> groups;
  for (auto& [stage, own] : stages) groups.push_back(std::move(own));
  return groups;
}

using Scattered = std::map<std::pair<int, LayerId>, std::vector<TaskId>>;  ///< (cell class, layer) -> its last reduce-scatters

/// Layer by layer, after the last micro-batch.
std::vector<Reduction> add_up_replicas(Emission& emission, const CommunicatorClass& group, const Scattered& scattered) {
  const LayerRun& run = emission.traffic.runs[group.first->run];
  LayerCut cut = emission.placement.role(run.cells.front()).cut;
  cut.tensor = run.slices(emission.placement);
  const std::vector<int> cells = cell_classes_of(emission, group);
  const DataType type = emission.placement.role(run.cells.front()).gradient_type(emission.workload.software);
  std::vector<Reduction> reductions;
  for (auto layer = run.layers.rbegin(); layer != run.layers.rend(); ++layer) {
    const double part = trained_dense_parameters(*emission.placement.module, std::span(&*layer, 1), cut) / run.shards(emission.placement);
    if (part == 0) continue;
    const Bytes bytes = element_size(type) * part;
    const TaskId task = add_data_exchange(emission, group, CollectiveKind::all_reduce, bytes, "all-reduce", *layer);
    for (const int c : cells) {
      const auto before = scattered.find({c, *layer});
      if (before == scattered.end()) emission.edge(emission.cells[c].last, task);  // one shard holds all
      if (before != scattered.end())
        for (const TaskId scatter : before->second) emission.edge(scatter, task);
    }
    for (const int c : cells) emission.cells[c].reduced[*layer].push_back(task);
    reductions.push_back({task, cells});
  }
  return reductions;
}

}  // namespace

std::vector<Reduction> emit_shards(Emission& emission) {
  std::vector<Reduction> reductions;
  Scattered scattered;
  for (std::vector<const CommunicatorClass*>& groups : groups_by_stage(emission))
    for (const auto& [key, task] : ShardWriter(emission, std::move(groups)).write()) {
      const auto& [group, layer] = key;
      const std::vector<int> cells = cell_classes_of(emission, *group);
      reductions.push_back({task, cells});
      for (const int c : cells) scattered[{c, layer}].push_back(task);
      for (const int c : cells) emission.cells[c].reduced[layer].push_back(task);
    }
  for (int run = int(emission.traffic.runs.size()) - 1; run >= 0; --run)
    for (const CommunicatorClass& group : emission.resources.communicators) {
      if (group.first->kind != CommunicatorKind::replicas || group.first->run != run) continue;
      for (Reduction& reduction : add_up_replicas(emission, group, scattered)) reductions.push_back(std::move(reduction));
    }
  return reductions;
}

}  // namespace trainyard
