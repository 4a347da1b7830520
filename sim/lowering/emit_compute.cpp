#include <algorithm>

#include "sim/cost/kernel_time.hpp"
#include "sim/cost/memory.hpp"
#include "sim/lowering/chain_writer.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/schedule.hpp"

namespace trainyard {
namespace {

constexpr TaskId kNone = static_cast<TaskId>(-1);

/// Writes the compute tasks of one cell class, in the order of its compute stream.
class CellWriter {
 public:
  CellWriter(Emission& emission, int cell_class)
      : emission_(emission),
        cell_(emission.symmetry.cells.first[cell_class]),
        role_(emission.placement.role(cell_)),
        devices_(emission.resources.cell_devices[cell_class]),
        private_(emission.resources.tensor_is_private[cell_class]),
        tensor_(emission.resources.tensor_of_cell[cell_class]),
        tasks_(emission.cells[cell_class]) {
    work_ = stage_work(emission.placement.cells[cell_], role_, *emission.placement.module, emission.cluster, emission.workload,
                       tensor_group());
    plan_segments();
    measure_memory();
  }

  void write() {
    tasks_.forward.resize(role_.micro_batches);
    tasks_.backward.resize(role_.micro_batches);
    for (auto* neighbours : {&tasks_.after_forward, &tasks_.after_backward, &tasks_.before_forward, &tasks_.before_backward})
      neighbours->assign(role_.micro_batches, kNone);
    TaskId* waiting = nullptr;  // where the next operation's first task is to be noted
    TaskId before = kNone;      // an operation may end in a collective, which the compute stream does not order
    for (const ScheduledOperation& op : stage_schedule(role_.micro_batches, role_.in_flight)) {
      const TaskSpan span = op.forward ? write_forward(op.micro_batch) : write_backward(op.micro_batch);
      (op.forward ? tasks_.forward : tasks_.backward)[op.micro_batch] = span;
      (op.forward ? tasks_.before_forward : tasks_.before_backward)[op.micro_batch] = before;
      if (waiting) *waiting = span.first;
      if (before != kNone) emission_.edge(before, span.first);
      waiting = &(op.forward ? tasks_.after_forward : tasks_.after_backward)[op.micro_batch];
      before = span.last;
    }
    write_optimizer();
    emission_.edge(before, tasks_.optimizer);
    const int cells = emission_.symmetry.cells.size[emission_.cell_class(cell_)];
    emission_.lowered.recomputed += work_.recomputed * double(role_.micro_batches * cells);
  }

 private:
  /// Layers [from, to) of the stage that one chain of tasks runs, and the bucket they belong to.
  struct Segment {
    std::size_t from = 0, to = 0;
    int run = -1;
  };

  TensorGroup tensor_group() const {
    if (tensor_ < 0) return {};
    const CommunicatorClass& group = emission_.resources.communicators[tensor_];
    TensorGroup tensor{group.first->shape(CollectiveKind::all_reduce), emission_.cluster.transports[index(group.first->transport)],
                       group.ring_rate};
    tensor.shape.ring_rate = group.lone_rate;
    return tensor;
  }

  const Software& software() const { return emission_.workload.software; }
  bool gathers_weights() const { return role_.zero >= 1 && software().overlap_weight_gather; }

  /// Buckets cut the layers of the stage into segments; layers that no other cell holds join what stands before them.
  void plan_segments() {
    std::vector<Segment> cut;
    std::vector<int> bucket_of(role_.layers.size(), -1);
    for (std::size_t b = 0; b < emission_.buckets.size(); ++b)
      for (const LayerId layer : emission_.buckets[b].layers) {
        const auto at = std::ranges::find(role_.layers, layer);
        if (at != role_.layers.end() && holds(emission_.buckets[b].run)) bucket_of[at - role_.layers.begin()] = int(b);
      }
    for (std::size_t i = 0; i < bucket_of.size(); ++i) {
      if (i == 0 || bucket_of[i] != bucket_of[i - 1])
        cut.push_back({i, i, bucket_of[i] < 0 ? -1 : emission_.buckets[bucket_of[i]].run});
      cut.back().to = i + 1;
    }
    bucket_segments_ = std::move(cut);
  }

  bool holds(int run) const {
    const auto& cells = emission_.traffic.runs[run].cells;
    return std::ranges::find(cells, cell_) != cells.end();
  }

  std::vector<Segment> segments(bool by_bucket) const {
    return by_bucket ? bucket_segments_ : std::vector<Segment>{{0, role_.layers.size(), -1}};
  }

  void measure_memory() {
    const auto& members = emission_.placement.cells[cell_].members;
    for (const int c : devices_) {
      const DeviceId first = id_at<DeviceId>(emission_.symmetry.devices.first[c]);
      const DeviceId member = std::ranges::find(members, first) != members.end() ? first : members.front();
      activations_.push_back(activation_memory(*emission_.placement.module, role_.layers, role_.cut,
                                               emission_.cluster.type_of(member), emission_.workload));
    }
    add_residents();
  }

  /// Layers with different holders have optimizer states of different shares.
  void add_residents() {
    StaticMemory held;
    for (const LayerRun& run : emission_.traffic.runs) {
      if (std::ranges::find(run.cells, cell_) == run.cells.end()) continue;
      const StaticMemory part = static_memory(*emission_.placement.module, run.layers, role_.cut, emission_.workload,
                                              int(run.cells.size()), role_.zero);
      held.weights += part.weights;
      held.gradients += part.gradients;
      held.optimizer += part.optimizer;
      held.buffers = std::max(held.buffers, part.buffers);
    }
    for (const int c : devices_)
      for (const auto& [kind, bytes] : {std::pair{MemoryClass::weights, held.weights}, {MemoryClass::gradients, held.gradients},
                                        {MemoryClass::optimizer, held.optimizer}, {MemoryClass::buffers, held.buffers}})
        if (bytes > Bytes(0)) emission_.lowered.graph.residents.push_back({id_at<ProcessorId>(c), kind, bytes});
  }

  TaskLabel label(TaskKind kind, int micro_batch) const {
    TaskLabel label;
    label.kind = kind;
    label.pipeline = role_.pipeline;
    label.stage = role_.position;
    label.micro_batch = micro_batch;
    return label;
  }

  TaskSpan write_forward(int micro_batch) {
    const bool by_bucket = gathers_weights() && micro_batch == 0;
    TaskSpan whole{kNone, kNone};
    for (const Segment& segment : segments(by_bucket)) {
      std::vector<TimedPiece> pieces;
      if (segment.from == 0) pieces = work_.forward_receive;
      for (std::size_t i = segment.from; i < segment.to; ++i) append(pieces, work_.layers[i].forward);
      const TaskSpan span = write_chain(pieces, label(TaskKind::forward, micro_batch), by_bucket, whole.last);
      if (by_bucket && segment.run >= 0) tasks_.first_forward[{segment.run, role_.layers[segment.from]}] = span;
      if (whole.first == kNone) whole.first = span.first;
      whole.last = span.last;
    }
    remember(whole.first, [](const ActivationMemory& m) { return Memory{{}, MemoryClass::activations, m.kept, Bytes(0), m.forward_peak}; });
    return whole;
  }

  TaskSpan write_backward(int micro_batch) {
    const bool by_bucket = software().overlap_gradient_reduce && micro_batch + 1 == role_.micro_batches;
    TaskSpan whole{kNone, kNone};
    const std::vector<Segment> parts = segments(by_bucket);
    for (auto segment = parts.rbegin(); segment != parts.rend(); ++segment) {
      std::vector<TimedPiece> pieces;
      if (segment->to == role_.layers.size()) pieces = work_.backward_receive;
      for (std::size_t i = segment->to; i-- > segment->from;) append(pieces, work_.layers[i].backward);
      const TaskSpan span = write_chain(pieces, label(TaskKind::backward, micro_batch), by_bucket, whole.last);
      if (by_bucket && segment->run >= 0) tasks_.last_backward[{segment->run, role_.layers[segment->from]}] = span;
      if (whole.first == kNone) whole.first = span.first;
      whole.last = span.last;
    }
    remember(whole.first, [](const ActivationMemory& m) { return Memory{{}, MemoryClass::activations, Bytes(0), Bytes(0), m.backward_peak}; });
    remember(whole.last, [](const ActivationMemory& m) { return Memory{{}, MemoryClass::activations, Bytes(0), -m.kept, Bytes(0)}; });
    return whole;
  }

  template <class Make>
  void remember(TaskId task, Make make) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      Memory memory = make(activations_[i]);
      memory.processor = id_at<ProcessorId>(devices_[i]);
      emission_.lowered.graph.tasks[index(task)].memory.push_back(memory);
    }
  }

  static void append(std::vector<TimedPiece>& to, const std::vector<TimedPiece>& from) { to.insert(to.end(), from.begin(), from.end()); }

  /// One task of the exact total where nobody else's traffic can meet these pieces, else a chain with its collectives as flows.
  TaskSpan write_chain(const std::vector<TimedPiece>& pieces, const TaskLabel& label, bool beside_gradients, TaskId before) {
    const bool merge = !emission_.options.full_detail && private_ && !(beside_gradients && tensor_ >= 0);
    ChainWriter writer(emission_, devices_, tensor_, label);
    const TaskSpan span = merge ? writer.merged(pieces) : writer.chain(pieces, emission_.options.full_detail);
    if (before != kNone) emission_.edge(before, span.first);
    return span;
  }

  void write_optimizer() {
    double parameters = 0;
    for (const LayerRun& run : emission_.traffic.runs) {
      if (std::ranges::find(run.cells, cell_) == run.cells.end()) continue;
      const double shards = role_.zero >= 1 ? double(run.cells.size()) : 1.0;
      parameters += parameters_on_device(*emission_.placement.module, run.layers, role_.cut) / shards;
    }
    Kernel update{OperatorClass::optimizer, {}, {}, {}, {}};
    if (emission_.workload.optimizer != "none")
      for (const DeviceId member : emission_.placement.cells[cell_].members)
        update.alone = std::max(update.alone, adam_time(emission_.cluster.type_of(member), parameters, software().gradient_type));
    Task task;
    task.label = label(TaskKind::optimizer, -1);
    task.slots = Emission::slots(devices_, DeviceStream::compute, 1);
    task.phases.push_back({Seconds(0), update, {}});
    tasks_.optimizer = emission_.add(std::move(task));
  }

  Emission& emission_;
  int cell_;
  const StageRole& role_;
  const std::vector<int>& devices_;
  bool private_;
  int tensor_;
  CellTasks& tasks_;
  StageWork work_;
  std::vector<Segment> bucket_segments_;
  std::vector<ActivationMemory> activations_;  ///< parallel to devices_
};

}  // namespace

TaskId Emission::add(Task task) {
  lowered.graph.tasks.push_back(std::move(task));
  return id_at<TaskId>(lowered.graph.tasks.size() - 1);
}

void Emission::edge(TaskId from, TaskId to, int distance) { lowered.graph.edges.push_back({from, to, distance}); }

std::vector<Slot> Emission::slots(const std::vector<int>& device_classes, DeviceStream stream, double share) {
  std::vector<Slot> slots;
  for (const int c : device_classes) slots.push_back({Resources::stream(c, stream), share});
  return slots;
}

void emit_compute(Emission& emission) {
  emission.cells.resize(emission.symmetry.cells.classes());
  for (int c = 0; c < emission.symmetry.cells.classes(); ++c) CellWriter(emission, c).write();
}

}  // namespace trainyard
