#include <algorithm>
#include <map>

#include "sim/cost/memory.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/layer_visits.hpp"

namespace trainyard {
namespace {

/// Layers whose gathered weights a device holds at once: the one in use and the one that is fetched ahead.
constexpr std::size_t kGatheredLayers = 2;

/// All traffic of one shard group, in the order in which its devices use the layers.
class ShardWriter {
 public:
  ShardWriter(Emission& emission, const CommunicatorClass& group)
      : emission_(emission),
        group_(group),
        role_(emission.placement.role(group.first->cells.front())),
        cells_(cell_classes_of(emission, group)),
        uses_(layer_uses(emission, role_)) {}

  /// Tasks that reduce each layer's gradients for the last time.
  std::map<LayerId, TaskId> write() {
    for (std::size_t k = 0; k < uses_.size(); ++k) {
      if (k == 0) gather(k);
      if (k + 1 < uses_.size()) gather(k + 1);  // before the reduction, which waits for this use
      if (uses_[k].makes_gradients()) reduce(k);
    }
    return std::move(last_);
  }

 private:
  double parameters(LayerId layer) const { return parameters_on_device(*emission_.placement.module, std::span(&layer, 1), role_.cut); }

  TaskSpan tasks_of(const LayerUse& use, int cell_class) const { return use.tasks(emission_.cells[cell_class]); }

  void gather(std::size_t k) {
    const LayerUse& use = uses_[k];
    const Bytes bytes = element_size(emission_.workload.precision) * parameters(use.layer);
    const bool frees = role_.regather || use.makes_gradients();
    const bool fetches = use.op.kind == 'F' || role_.regather;
    if (fetches) {
      const TaskId task = add_data_exchange(emission_, group_, CollectiveKind::all_gather, bytes, "gather weights", use.layer);
      hold(task, bytes, Bytes(0));
      for (const int c : cells_) {
        emission_.edge(task, tasks_of(use, c).first);
        emission_.cells[c].gathers[k].push_back(task);
        if (gathered_.size() < kGatheredLayers)
          emission_.edge(emission_.cells[c].optimizer, task, 1);
        else if (role_.regather)
          emission_.edge(tasks_of(uses_[gathered_[gathered_.size() - kGatheredLayers]], c).last, task);
      }
      gathered_.push_back(k);
    }
    if (frees)
      for (const int c : cells_) hold(tasks_of(use, c).last, Bytes(0), -bytes, c);
  }

  /// The whole layer's gradients stand in a buffer until they are scattered.
  void reduce(std::size_t k) {
    const LayerUse& use = uses_[k];
    const Bytes bytes = element_size(emission_.workload.software.gradient_reduce_type) * parameters(use.layer);
    const TaskId task = add_data_exchange(emission_, group_, CollectiveKind::reduce_scatter, bytes, "reduce-scatter", use.layer);
    hold(task, bytes, -bytes);
    for (const int c : cells_) {
      emission_.edge(tasks_of(use, c).last, task);
      emission_.cells[c].scatters[k].push_back(task);
    }
    last_[use.layer] = task;
  }

  /// On the devices of the group, or of one cell class of it.
  void hold(TaskId task, Bytes at_start, Bytes at_end, int cell_class = -1) {
    const std::vector<int>& devices = cell_class < 0 ? group_.devices : emission_.resources.cell_devices[cell_class];
    for (const int device : devices) {
      if (cell_class >= 0 && !in_group(device)) continue;
      emission_.lowered.graph.tasks[index(task)].memory.push_back(
          {id_at<ProcessorId>(device), MemoryClass::buffers, at_start, at_end, std::max(Bytes(0), at_start)});
    }
  }

  bool in_group(int device) const { return std::ranges::find(group_.devices, device) != group_.devices.end(); }

  Emission& emission_;
  const CommunicatorClass& group_;
  const StageRole& role_;
  std::vector<int> cells_;
  std::vector<LayerUse> uses_;
  std::vector<std::size_t> gathered_;    ///< uses that were gathered for, in order
  std::map<LayerId, TaskId> last_;
};

}  // namespace

std::vector<Reduction> emit_shards(Emission& emission) {
  std::vector<Reduction> reductions;
  std::map<std::pair<int, LayerId>, std::vector<TaskId>> scattered;  ///< (cell class, layer)
  for (const CommunicatorClass& group : emission.resources.communicators) {
    if (group.first->kind != CommunicatorKind::shards) continue;
    const std::vector<int> cells = cell_classes_of(emission, group);
    for (const auto& [layer, task] : ShardWriter(emission, group).write()) {
      reductions.push_back({task, cells});
      for (const int c : cells) scattered[{c, layer}].push_back(task);
      for (const int c : cells) emission.cells[c].reduced[layer].push_back(task);
    }
  }
  for (const CommunicatorClass& group : emission.resources.communicators) {
    if (group.first->kind != CommunicatorKind::replicas) continue;
    const StageRole& role = emission.placement.role(group.first->cells.front());
    const std::vector<int> cells = cell_classes_of(emission, group);
    for (auto layer = role.layers.rbegin(); layer != role.layers.rend(); ++layer) {
      const double part = parameters_on_device(*emission.placement.module, std::span(&*layer, 1), role.cut) / role.shards;
      const Bytes bytes = element_size(emission.workload.software.gradient_reduce_type) * part;
      const TaskId task = add_data_exchange(emission, group, CollectiveKind::all_reduce, bytes, "all-reduce", *layer);
      for (const int c : cells)
        for (const TaskId before : scattered[{c, *layer}]) emission.edge(before, task);
      for (const int c : cells) emission.cells[c].reduced[*layer].push_back(task);
      reductions.push_back({task, cells});
    }
  }
  return reductions;
}

}  // namespace trainyard
