#include <algorithm>
#include <cmath>
#include <set>

#include "sim/cost/memory.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/wire.hpp"

namespace trainyard {
namespace {

class GradientWriter {
 public:
  explicit GradientWriter(Emission& emission) : emission_(emission), software_(emission.workload.software) {}

  void write() {
    reductions_ = emit_shards(emission_);
    reduce_all();
    for (const CommunicatorClass& group : emission_.resources.communicators)
      if (group.first->kind == CommunicatorKind::tied_embedding) reduce_table(group);
    for (Reduction& reduction : emit_offload(emission_))
      if (software_.gradient_clipping) reductions_.push_back(std::move(reduction));
    gate_optimizers();
    for (auto bucket = emission_.buckets.rbegin(); bucket != emission_.buckets.rend(); ++bucket) gather(*bucket);
    for (const CommunicatorClass& group : emission_.resources.communicators)
      if (is_of_experts(group)) average_tables(group);
  }

 private:
  std::vector<int> cell_classes(const CommunicatorClass& group) const { return cell_classes_of(emission_, group); }

  std::vector<const CommunicatorClass*> groups_of(int run) const {
    std::vector<const CommunicatorClass*> groups;
    for (const CommunicatorClass& group : emission_.resources.communicators)
      if ((group.first->kind == CommunicatorKind::gradients || is_of_experts(group)) && group.first->run == run) groups.push_back(&group);
    return groups;
  }

  static bool is_of_experts(const CommunicatorClass& group) { return group.first->kind == CommunicatorKind::expert_gradients; }

  /// Of the bucket's parameters those that this group exchanges.
  double exchanged(const Bucket& bucket, const CommunicatorClass& group) const {
    if (!is_of_experts(group)) return bucket.parameters;
    const StageRole& role = emission_.placement.role(group.first->cells.front());
    LayerCut cut = role.cut;
    cut.experts.items = role.items[group.first->expert_rank];
    return trained_expert_parameters(*emission_.placement.module, bucket.layers, cut);
  }

  int zero_of(const CommunicatorClass& group) const { return emission_.placement.role(group.first->cells.front()).zero; }

  TaskId exchange(const CommunicatorClass& group, CollectiveKind kind, Bytes size, const char* what, LayerId layer) {
    return add_data_exchange(emission_, group, kind, size, what, layer);
  }

  /// Once a step, or with zero 2 once a micro-batch, in the order in which the gradients become complete.
  void reduce_all() {
    int most = 1;
    for (const Bucket& bucket : emission_.buckets) most = std::max(most, times_reduced(bucket));
    for (int pass = 0; pass < most; ++pass)
      for (const Bucket& bucket : emission_.buckets)
        if (const int own = pass - (most - times_reduced(bucket)); own >= 0) reduce(bucket, own);
  }

  const StageRole& role_of(const Bucket& bucket) const { return emission_.placement.role(emission_.traffic.runs[bucket.run].cells.front()); }

  int times_reduced(const Bucket& bucket) const {
    const StageRole& role = role_of(bucket);
    return role.zero == 2 ? role.micro_batches : 1;
  }

  /// Starts when the last holder has the bucket's gradients complete.
  void reduce(const Bucket& bucket, int pass) {
    for (const CommunicatorClass* group : groups_of(bucket.run)) {
      const double parameters = exchanged(bucket, *group);
      if (parameters == 0) continue;
      const Bytes size = element_size(role_of(bucket).gradient_type(software_)) * parameters;
      const bool sharded = zero_of(*group) >= 1;
      const TaskId task = exchange(*group, sharded ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, size,
                                   sharded ? "reduce-scatter" : "all-reduce", bucket.layers.front());
      for (const int c : cell_classes(*group)) {
        await_gradients(c, bucket, pass, task);
        if (zero_of(*group) == 2) scatter(*group, c, bucket, pass, task);
        if (pass + 1 == times_reduced(bucket))
          for (const LayerId layer : bucket.layers) emission_.cells[c].reduced[layer].push_back(task);
      }
      if (pass + 1 == times_reduced(bucket)) reductions_.push_back({task, cell_classes(*group)});
    }
  }

  /// zero 2 keeps only parts of gradients: those of a bucket are whole from its backward pass until they are scattered. Without
  /// overlap the next pass waits for that.
  void scatter(const CommunicatorClass& group, int cell_class, const Bucket& bucket, int pass, TaskId task) {
    const LayerCut& cut = emission_.placement.role(emission_.symmetry.cells.first[cell_class]).cut;
    const double parameters = is_of_experts(group) ? exchanged(bucket, group) : trained_dense_parameters(*emission_.placement.module, bucket.layers, cut);
    const Bytes whole = element_size(software_.gradient_type) * parameters;
    const CellTasks& cell = emission_.cells[cell_class];
    const TaskId made_by = gradients_complete(cell_class, bucket, pass).first;
    for (const int device : emission_.resources.cell_devices[cell_class]) {
      if (std::ranges::find(group.devices, device) == group.devices.end()) continue;
      const auto id = id_at<ProcessorId>(device);
      tasks()[index(made_by)].memory.push_back({id, MemoryClass::buffers, whole, Bytes(0), whole});
      tasks()[index(task)].memory.push_back({id, MemoryClass::buffers, Bytes(0), -whole, Bytes(0)});
    }
    if (software_.overlap_gradient_reduce) return;
    for (const TaskId next : after_backward(cell, gradients_complete(cell_class, bucket, pass).last)) emission_.edge(task, next);
  }

  std::vector<Task>& tasks() { return emission_.lowered.graph.tasks; }

  /// First tasks of the operations that follow the backward pass which `task` is part of.
  static std::vector<TaskId> after_backward(const CellTasks& cell, TaskId task) {
    for (const auto& chunk : cell.backward)
      for (const CellTasks::Pass& pass : chunk)
        if (pass.tasks.first <= task && task <= pass.tasks.last) return pass.after;
    return {};
  }

  /// Without overlap an exchange waits for all passes of the cell's devices.
  void await_gradients(int cell_class, const Bucket& bucket, int pass, TaskId exchange) {
    const CellTasks& cell = emission_.cells[cell_class];
    if (cell.backward_of_bucket.contains({bucket.run, bucket.layers.front()})) return emission_.edge(gradients_complete(cell_class, bucket, pass).last, exchange);
    for (const int c : cell.beside) emission_.edge(emission_.cells[c].last, exchange);
  }

  TaskSpan gradients_complete(int cell_class, const Bucket& bucket, int pass) const {
    const CellTasks& cell = emission_.cells[cell_class];
    const auto segment = cell.backward_of_bucket.find({bucket.run, bucket.layers.front()});
    return segment == cell.backward_of_bucket.end() ? TaskSpan{cell.last, cell.last} : segment->second.at(std::size_t(pass));
  }

  void reduce_table(const CommunicatorClass& group) {
    const Module& module = *emission_.placement.module;
    const auto tied = std::ranges::find_if(module.layers, [](const Layer& layer) { return !layer.tied_to.empty(); });
    double table = 0;
    for (const Operator& op : module.types[index(tied->type)].operators)
      if (op.cut == TensorCut::vocabulary && op.trainable) table += op.parameters;
    if (table == 0) return;
    std::size_t ranks = 1;
    for (const int cell : group.first->cells) ranks = std::max(ranks, emission_.placement.cells[cell].members.size());
    const Bytes size = element_size(emission_.placement.role(group.first->cells.front()).gradient_type(software_)) * (table / double(ranks));
    const TaskId task = exchange(group, CollectiveKind::all_reduce, size, "shared table", tied->tied_to.front());
    for (const int c : cell_classes(group)) {
      emission_.edge(emission_.cells[c].last, task);
      for (const LayerId layer : {tied->tied_to.front(), id_at<LayerId>(std::size_t(tied - module.layers.begin()))})
        emission_.cells[c].reduced[layer].push_back(task);
    }
    reductions_.push_back({task, cell_classes(group)});
  }

  /// With clipping, every device waits for the norm over all gradients; without, for its own reductions.
  void gate_optimizers() {
    if (!software_.gradient_clipping) {
      for (const auto& [task, cells] : reductions_)
        for (const int c : cells)
          for (const TaskId update : emission_.cells[c].updates) emission_.edge(task, update);
      return;
    }
    Task norm;
    norm.label.kind = TaskKind::data;
    norm.label.detail = "gradient norm";
    norm.phases.push_back({norm_time(), std::nullopt, {}});
    const TaskId gate = emission_.add(std::move(norm));
    for (const auto& [task, cells] : reductions_) emission_.edge(task, gate);
    for (const CellTasks& cell : emission_.cells) {
      emission_.edge(cell.last, gate);
      for (const TaskId update : cell.updates) emission_.edge(gate, update);
    }
  }

  /// A tree over all devices that carries one number: setup and one step a level of the slowest transport in use.
  Seconds norm_time() const {
    const double levels = std::ceil(std::log2(double(emission_.lowered.used.size())));
    Seconds slowest{};
    for (const CommunicatorClass& group : emission_.resources.communicators) {
      const Transport& transport = emission_.cluster.transports[index(group.first->transport)];
      slowest = std::max(slowest, transport.setup + transport.step * levels);
    }
    return slowest;
  }

  /// ZeRO-1: each holder has updated its part; the next step's first forward pass needs all of it.
  void gather(const Bucket& bucket) {
    for (const CommunicatorClass* group : groups_of(bucket.run)) {
      const double parameters = exchanged(bucket, *group);
      if (zero_of(*group) < 1 || parameters == 0) continue;
      const Bytes size = element_size(emission_.workload.precision) * parameters;
      const TaskId task = exchange(*group, CollectiveKind::all_gather, size, "all-gather", bucket.layers.front());
      for (const int c : cell_classes(*group)) {
        emission_.edge(emission_.cells[c].optimizer, task);
        for (const LayerId layer : bucket.layers)
          for (const TaskId refreshed : emission_.cells[c].refreshed[layer]) emission_.edge(refreshed, task);
        for (const TaskId use : first_uses(c, bucket)) emission_.edge(task, use, 1);
      }
    }
  }

  /// Replicas of tables average their rows and the states of the optimizer after the step, before the next begins. Every n steps: an
  /// n-th of it in each, which is its share of the mean where nothing runs beside it.
  /// Source: TorchRec, DMPCollection.sync; arXiv 2508.03854 §3.
  void average_tables(const CommunicatorClass& group) {
    const StageRole& role = emission_.placement.role(group.first->cells.front());
    const Bytes held = table_bytes(*emission_.placement.module, role.layers, role.cut);
    if (held == Bytes(0)) return;
    const Stage& stage = emission_.placement.part->stages[index(emission_.placement.cells[std::size_t(group.first->cells.front())].stage)];
    const int every = settings_of(stage, role.layers.front(), emission_.workload, "experts").sync->every;
    const TaskId task = exchange(group, CollectiveKind::all_reduce, held, "tables", role.layers.front());
    for (auto& phase : tasks()[index(task)].phases) {
      phase.delay = phase.delay / double(every);
      for (auto& flow : phase.flows) flow.bytes = flow.bytes / double(every);
    }
    for (const int c : cell_classes(group)) {
      emission_.edge(emission_.cells[c].optimizer, task);
      for (const int beside : emission_.cells[c].beside) emission_.edge(task, emission_.cells[beside].first, 1);
    }
  }

  std::vector<TaskId> first_uses(int cell_class, const Bucket& bucket) const {
    const CellTasks& cell = emission_.cells[cell_class];
    const auto segment = cell.first_forward.find({bucket.run, bucket.layers.front()});
    if (segment != cell.first_forward.end()) return {segment->second.first};
    std::vector<TaskId> firsts;
    for (const int c : cell.beside) firsts.push_back(emission_.cells[c].first);
    return firsts;
  }

  Emission& emission_;
  const Software& software_;
  std::vector<Reduction> reductions_;
};

}  // namespace

std::vector<int> cell_classes_of(const Emission& emission, const CommunicatorClass& group) {
  std::set<int> classes;
  for (const int cell : group.first->cells) classes.insert(emission.cell_class(cell));
  return {classes.begin(), classes.end()};
}

TaskId add_data_exchange(Emission& emission, const CommunicatorClass& group, CollectiveKind kind, Bytes size, const char* what, LayerId layer) {
  const Wire& wire = emission.placement.role(group.first->cells.front()).wire;
  CollectiveShape shape = shape_by_wire(emission.cluster, *group.first, kind, wire);
  shape.ring_rate = group.lone_rate;
  const Transport& transport = emission.cluster.transports[index(group.first->transport)];
  const CollectiveCost cost = emission.next_exchange(group, cost_by_wire(shape, transport, size, wire));
  Task task;
  task.label.kind = TaskKind::data;
  task.label.layer = int(layer);
  task.label.detail = what;
  task.slots = emission.collective_slots(group.devices, DeviceStream::data);
  task.phases.push_back({cost.delay, std::nullopt, {{group.path, cost.bytes}}});
  return emission.add(std::move(task));
}

void emit_gradients(Emission& emission) { GradientWriter(emission).write(); }

}  // namespace trainyard
