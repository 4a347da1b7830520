#include <algorithm>
#include <limits>
#include <memory>

#include "sim/cost/kernel_time.hpp"
#include "sim/lowering/cell_memory.hpp"
#include "sim/lowering/chain_writer.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/layer_visits.hpp"
#include "sim/lowering/repeated_stage.hpp"
#include "sim/lowering/sized_work.hpp"
#include "sim/lowering/stage_segments.hpp"
#include "sim/lowering/turns.hpp"
#include "sim/lowering/wire.hpp"

namespace trainyard {
namespace {

constexpr TaskId kNone = static_cast<TaskId>(-1);

/// Writes the compute tasks of one cell class, in the order of its compute stream.
class CellWriter final : public OperationWriter {
 public:
  CellWriter(Emission& emission, int cell_class)
      : emission_(emission),
        cell_(emission.symmetry.cells.first[cell_class]),
        role_(emission.placement.role(cell_)),
        devices_(emission.resources.cell_devices[cell_class]),
        private_(emission.resources.groups_are_private[cell_class]),
        meets_gradients_(emission.resources.groups_meet_gradients[cell_class]),
        groups_(emission.resources.groups_of_cell[cell_class]),
        tasks_(emission.cells[cell_class]),
        segments_(emission, cell_, role_),
        sized_(role_, [this](const StageRole& role) { return measured(role); }) {
    keep_notes();
    for (const Bucket& bucket : emission_.buckets)
      if (is_cut_finer(bucket)) cut_finer_.push_back(&bucket);
    for (std::size_t i = 0; i < devices_.size(); ++i) add_states(i, sized_.of(0).memory.states[i]);
    repeat_next_stage();
    plan_order();
  }

  TaskSpan write(const ScheduledOperation& op, const std::vector<TaskId>& before, std::optional<Bytes> beside) override {
    beside_ = beside;
    beside_gradients_ = segments_.by_layer() || op.turn <= gathers_until_ || op.turn >= reduces_from_;
    layer_spans_.assign(role_.chunks[op.chunk].size(), TaskSpan{});
    exchanges_.clear();
    rebuilt_spans_ = layer_spans_;
    const TaskSpan span = write_operation(op);
    for (const TaskId task : before) emission_.edge(task, span.first);
    const TaskId repeated = op.kind == 'F' ? write_repeated(op) : kNone;
    if (op.kind != 'W') tasks_.pass(op) = {span, {}, before, std::move(layer_spans_), std::move(rebuilt_spans_)};
    if (tasks_.first == kNone) tasks_.first = span.first;
    tasks_.last = repeated == kNone ? span.last : repeated;
    return span;
  }

  Bytes transient(const ScheduledOperation& op) const override {
    Bytes most{};
    for (const auto& passes : sized_.of(op.micro_batch).memory.passes) {
      const ActivationMemory& pass = passes[std::size_t(op.chunk)];
      most = std::max(most, op.kind == 'F' ? pass.forward_peak - pass.kept : pass.backward_peak);
    }
    return most;
  }

  Bytes buffers() const override { return sized_.of(0).memory.buffers + relayout_buffer_; }

  void finish() override {
    write_optimizer();
    emission_.edge(tasks_.last, tasks_.optimizer);
    const int cells = emission_.symmetry.cells.size[emission_.cell_class(cell_)];
    emission_.lowered.recomputed += (sized_.recomputed(role_.micro_batches) + repeated_.flops * double(role_.micro_batches)) * double(cells);
  }

 private:
  SizedWork measured(const StageRole& role) const {
    return {{}, {},
            stage_work(emission_.placement.cells[cell_], role, *emission_.placement.module, emission_.cluster, emission_.workload, cell_groups()),
            cell_memory(emission_, cell_, devices_, role)};
  }

  const StageWork& work(const ScheduledOperation& op) const { return sized_.of(op.micro_batch).work; }

  void keep_notes() {
    for (const SizedWork& sized : sized_.all())
      for (const std::string& note : sized.work.notes)
        if (std::ranges::find(emission_.lowered.extrapolated, note) == emission_.lowered.extrapolated.end())
          emission_.lowered.extrapolated.push_back(note);
  }

  void plan_order() {
    tasks_.forward.assign(role_.chunks.size(), std::vector<CellTasks::Pass>(role_.micro_batches));
    tasks_.backward = tasks_.forward;
    tasks_.first = tasks_.last = kNone;
    const auto gathered = std::ranges::find_if(role_.order.rbegin(), role_.order.rend(), [&](const auto& op) { return awaits_weights(op); }).base();
    const auto reducing = std::ranges::find_if(role_.order, [&](const auto& op) { return op.kind != 'F' && completes_gradients(op); });
    gathers_until_ = gathered == role_.order.begin() ? -1 : std::prev(gathered)->turn;
    reduces_from_ = reducing == role_.order.end() ? std::numeric_limits<int>::max() : reducing->turn;
  }

  TaskSpan write_operation(const ScheduledOperation& op) {
    if (op.kind == 'F') return write_forward(op);
    return op.kind == 'B' ? write_backward(op) : write_weight_gradients(op);
  }

  void repeat_next_stage() {
    repeated_ = repeated_stage(emission_, cell_, cell_groups());
    for (std::size_t i = 0; i < devices_.size(); ++i) add_states(i, {repeated_.weights, Bytes(0), repeated_.optimizer, Bytes(0)});
  }

  TaskId write_repeated(const ScheduledOperation& op) {
    if (repeated_.forward.empty()) return kNone;
    TaskSpan whole{kNone, kNone};
    return write_chain(drawn({repeated_.forward, {}, {}}, op), label(TaskKind::recompute, op), op, whole).last;
  }

  CellGroups cell_groups() const {
    const auto slowest = [&](LayerGroup axis) { return slowest_of(groups_.of(axis)); };
    return {slowest(LayerGroup::tensor), slowest(LayerGroup::context), slowest(LayerGroup::rows), slowest(LayerGroup::columns), slowest(LayerGroup::inner),
            slowest(LayerGroup::expert), slowest(LayerGroup::expert_tensor)};
  }

  /// Groups of one axis advance together: the slowest stands for all.
  RingGroup slowest_of(const std::vector<int>& classes) const {
    RingGroup slowest;
    for (const int c : classes) {
      const CommunicatorClass& group = emission_.resources.communicators[c];
      if (slowest.together_rate.value > 0 && group.ring_rate >= slowest.together_rate) continue;
      slowest = {shape_by_wire(emission_.cluster, *group.first, CollectiveKind::all_reduce, role_.wire), emission_.cluster.transports[index(group.first->transport)], group.ring_rate};
      slowest.shape.ring_rate = group.lone_rate;
    }
    return slowest;
  }

  const Software& software() const { return emission_.workload.software; }
  DataType gradient_type() const { return role_.gradient_type(software()); }
  bool gathers_weights() const { return role_.zero >= 1 && role_.zero < 3 && software().overlap_weight_gather; }

  void add_states(std::size_t device, const StaticMemory& held) {
    const auto id = id_at<ProcessorId>(devices_[device]);
    for (const auto& [kind, bytes] : {std::pair{MemoryClass::weights, held.weights}, {MemoryClass::gradients, held.gradients}, {MemoryClass::optimizer, held.optimizer}})
      if (bytes > Bytes(0)) emission_.lowered.graph.residents.push_back({id, kind, bytes});
  }

  TaskLabel label(TaskKind kind) const {
    TaskLabel label;
    label.kind = kind;
    label.pipeline = role_.pipeline;
    label.stage = role_.position;
    return label;
  }

  TaskLabel label(TaskKind kind, const ScheduledOperation& op) const {
    TaskLabel made = label(kind);
    made.micro_batch = op.micro_batch;
    if (role_.chunks.size() > 1) made.chunk = op.chunk;
    return made;
  }

  TaskSpan write_forward(const ScheduledOperation& op) {
    const bool by_bucket = awaits_weights(op);
    TaskSpan whole{kNone, kNone};
    for (const Segment& segment : segments_.of(op.chunk, by_bucket)) {
      PassPieces pieces;
      if (segment.from == role_.first_of(op.chunk) && receives(op)) pieces.before = work(op).receive;
      if (role_.zero >= 1 && op.first_use) append(pieces.before, relayouts(segment, emission_.workload.precision));
      for (std::size_t i = segment.from; i < segment.to; ++i) append(pieces.layers, work(op).layers[i].forward);
      const TaskSpan span = write_chain(drawn(std::move(pieces), op), label(TaskKind::forward, op), op, whole);
      layer_spans_[segment.from - role_.first_of(op.chunk)] = span;
      if (role_.leaves_device()) hold_forward(segment.from, span);
      if (by_bucket && segment.run >= 0) tasks_.first_forward[{segment.run, role_.layers[segment.from]}] = span;
    }
    remember(whole.first, op, [](const ActivationMemory& m) { return Memory{{}, MemoryClass::activations, m.kept, Bytes(0), m.forward_peak}; });
    return whole;
  }

  TaskSpan write_backward(const ScheduledOperation& op) {
    const bool by_bucket = !op.split && completes_gradients(op);
    TaskSpan whole{kNone, kNone};
    const std::vector<Segment> parts = segments_.of(op.chunk, by_bucket);
    auto segment = parts.rbegin();
    PassPieces pieces;
    if (receives(op)) pieces.before = work(op).receive;
    for (const LayerVisit& visit : layer_visits(*emission_.placement.module, role_, op)) {
      const LayerPieces& layer = work(op).layers[role_.first_of(op.chunk) + visit.position];
      if (visit.rebuilds || visit.rebuilds_first) append(pieces.layers, layer.recompute);
      if (!visit.rebuilds) append(pieces.layers, op.split ? input_gradients(layer.backward) : layer.backward);
      const bool ends_segment = !visit.rebuilds && role_.first_of(op.chunk) + visit.position == segment->from;
      if (!ends_segment && !(visit.rebuilds && segments_.by_layer())) continue;
      if (!visit.rebuilds && !op.split && exchanges_gradients(op)) append(pieces.behind, relayouts(*segment, gradient_type()));
      const TaskSpan span = write_chain(drawn(std::move(pieces), op), label(visit.rebuilds ? TaskKind::recompute : TaskKind::backward, op), op, whole);
      pieces = {};
      (visit.rebuilds ? rebuilt_spans_ : layer_spans_)[visit.position] = span;
      if (role_.leaves_device()) hold_backward(role_.first_of(op.chunk) + visit.position, visit, span);
      if (visit.rebuilds) continue;
      if (by_bucket && segment->run >= 0) tasks_.backward_of_bucket[{segment->run, role_.layers[segment->from]}].push_back(span);
      ++segment;
    }
    remember(whole.first, op, [](const ActivationMemory& m) { return Memory{{}, MemoryClass::activations, Bytes(0), Bytes(0), m.backward_peak}; });
    if (!op.split) release(whole.last, op);
    return whole;
  }

  TaskSpan write_weight_gradients(const ScheduledOperation& op) {
    const bool by_bucket = completes_gradients(op);
    TaskSpan whole{kNone, kNone};
    const std::vector<Segment> parts = segments_.of(op.chunk, by_bucket);
    for (auto segment = parts.rbegin(); segment != parts.rend(); ++segment) {
      PassPieces pieces;
      for (std::size_t i = segment->to; i-- > segment->from;) append(pieces.layers, weight_gradients(work(op).layers[i].backward));
      if (exchanges_gradients(op)) append(pieces.behind, relayouts(*segment, gradient_type()));
      const TaskSpan span = write_chain(drawn(std::move(pieces), op), label(TaskKind::weight_gradient, op), op, whole);
      if (by_bucket && segment->run >= 0) tasks_.backward_of_bucket[{segment->run, role_.layers[segment->from]}].push_back(span);
    }
    release(whole.last, op);
    tasks_.weight_gradients[{op.chunk, op.micro_batch}] = whole.last;
    return whole;
  }

  PassPieces drawn(PassPieces pieces, const ScheduledOperation& op) const {
    for (std::vector<TimedPiece>* part : {&pieces.before, &pieces.layers, &pieces.behind})
      *part = emission_.jitter.applied(std::move(*part), cell_, {op.kind, op.chunk, op.micro_batch});
    return pieces;
  }

  /// Whether an exchange of gradients follows this backward pass.
  bool exchanges_gradients(const ScheduledOperation& op) const { return op.last_gradients || role_.zero == 2; }

  /// Does another holder cut this bucket finer? Then its gradients are copied into the finer parts before they are exchanged, and
  /// back before they are used (or, where the optimizer works on parts, the gathered weights).
  bool is_cut_finer(const Bucket& bucket) const {
    const LayerRun& run = emission_.traffic.runs[bucket.run];
    return run.held_by(cell_) && run.slices(emission_.placement) > role_.cut.tensor;
  }

  double parameters_of(const Bucket& bucket) const { return trained_dense_parameters(*emission_.placement.module, bucket.layers, role_.cut); }

  TimedPiece relayout(const Bucket& bucket, DataType type) const {
    const Kernel copy = relayout_kernel(emission_.placement.cells[cell_], emission_.cluster, parameters_of(bucket), type);
    return {TaskKind::data, "re-layout", copy, std::nullopt, LayerGroup::tensor, {}};
  }

  std::vector<TimedPiece> relayouts(const Segment& segment, DataType type) const {
    std::vector<TimedPiece> copies;
    const auto from = role_.layers.begin() + std::ptrdiff_t(segment.from), to = role_.layers.begin() + std::ptrdiff_t(segment.to);
    for (const Bucket* bucket : cut_finer_)
      if (std::find(from, to, bucket->layers.front()) != to) copies.push_back(relayout(*bucket, type));
    return copies;
  }

  bool awaits_weights(const ScheduledOperation& op) const { return gathers_weights() && op.first_use; }

  bool completes_gradients(const ScheduledOperation& op) const {
    if (role_.zero == 2) return op.kind != 'F' && !op.split;
    return software().overlap_gradient_reduce && op.last_gradients;
  }

  /// Does another stage send what this operation begins with?
  bool receives(const ScheduledOperation& op) const {
    const auto from = op.kind == 'F' ? emission_.placement.before(role_, op.chunk) : emission_.placement.after(role_, op.chunk);
    return from && emission_.placement.roles[from->role].position != role_.position;
  }

  void release(TaskId last, const ScheduledOperation& op) {
    remember(last, op, [](const ActivationMemory& m) { return Memory{{}, MemoryClass::activations, Bytes(0), -m.kept, Bytes(0)}; });
  }

  /// Layer by layer where states leave the device: `layer` is a position in the stage.
  void hold_forward(std::size_t layer, const TaskSpan& span) {
    hold(span.first, layer, [](const LayerMemory& m) { return Memory{{}, MemoryClass::activations, m.kept, Bytes(0), m.kept + m.rebuilt}; });
  }

  void hold_backward(std::size_t layer, const LayerVisit& visit, const TaskSpan& span) {
    if (visit.rebuilds) {
      hold(span.first, layer, [](const LayerMemory& m) { return Memory{{}, MemoryClass::activations, m.rebuilt, Bytes(0), m.rebuilt}; });
      return;
    }
    const bool inline_rebuild = visit.rebuilds_first;
    hold(span.first, layer, [&](const LayerMemory& m) {
      return Memory{{}, MemoryClass::activations, Bytes(0), Bytes(0), m.transient + (inline_rebuild ? m.rebuilt : Bytes(0))};
    });
    hold(span.last, layer, [&](const LayerMemory& m) {
      return Memory{{}, MemoryClass::activations, Bytes(0), -m.kept - (inline_rebuild ? Bytes(0) : m.rebuilt), Bytes(0)};
    });
  }

  template <class Make>
  void hold(TaskId task, std::size_t layer, Make make) {
    add_memory(task, [&](std::size_t device) { return make(sized_.of(0).memory.layers[device][layer]); });
  }

  template <class Make>
  void remember(TaskId task, const ScheduledOperation& op, Make make) {
    if (role_.leaves_device()) return;  // held layer by layer
    add_memory(task, [&](std::size_t device) { return make(sized_.of(op.micro_batch).memory.passes[device][op.chunk]); });
  }

  template <class OnDevice>
  void add_memory(TaskId task, OnDevice on_device) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      Memory memory = on_device(i);
      if (beside_ && memory.peak_inside > Bytes(0)) memory.peak_inside += *beside_;
      memory.processor = id_at<ProcessorId>(devices_[i]);
      emission_.lowered.graph.tasks[index(task)].memory.push_back(memory);
    }
  }

  static void append(std::vector<TimedPiece>& to, const std::vector<TimedPiece>& from) { to.insert(to.end(), from.begin(), from.end()); }

  /// One task of the exact total where nobody else's traffic can meet these pieces, else a chain with its collectives as flows;
  /// appended to `whole`.
  TaskSpan write_chain(const PassPieces& pieces, const TaskLabel& label, const ScheduledOperation& op, TaskSpan& whole) {
    const bool each_operator = emission_.options.full_detail || kernels_slow_flows();
    const bool merge = !each_operator && private_ && !beside_ && !(beside_gradients_ && (meets_gradients_ || collectives_slow_kernels()));
    ChainWriter writer(emission_, devices_, groups_, label, op, exchanges_);
    const TaskSpan span = merge ? writer.merged(pieces, role_.cut) : writer.chain(pieces, role_.cut, each_operator);
    if (whole.first == kNone)
      whole.first = span.first;
    else
      emission_.edge(whole.last, span.first);
    whole.last = span.last;
    return span;
  }

  bool collectives_slow_kernels() const {
    return std::ranges::any_of(devices_, [&](int device) { return emission_.type_of(device).collective_share > 0; });
  }

  /// Each class of kernels by its own factor, so that classes may not be merged.
  bool kernels_slow_flows() const {
    return std::ranges::any_of(devices_, [&](int device) { return !emission_.type_of(device).interference.empty(); });
  }

  double updated_on_device(const LayerCut& cut, LayerId layer, double shards, double expert_shards) const {
    const Module& module = *emission_.placement.module;
    const double experts = trained_expert_parameters(module, std::span(&layer, 1), cut);
    return trained_dense_parameters(module, std::span(&layer, 1), cut) / shards + (experts > 0 ? experts / expert_shards : 0);
  }

  /// That the optimizer updates on a device with this cut.
  double updated_parameters(const LayerCut& cut) const {
    double parameters = 0;
    for (const LayerRun& run : emission_.traffic.runs) {
      if (!run.held_by(cell_)) continue;
      const double shards = role_.zero == 3 ? role_.shards : role_.zero >= 1 ? run.holders(emission_.placement) : 1;
      for (const LayerId& layer : run.layers)
        if (role_.home(layer).optimizer.place == Place::device)
          parameters += updated_on_device(cut, layer, shards, role_.zero >= 1 ? double(run.expert_holders(emission_.placement)) : 1);
    }
    return parameters;
  }

  void write_optimizer() {
    Kernel update{OperatorClass::optimizer, {}, {}, {}, {}};
    const bool updates = !role_.leaves_device() || updated_parameters(role_.cut) > 0;
    const auto& members = emission_.placement.cells[cell_].members;
    for (std::size_t i = 0; emission_.workload.optimizer != "none" && updates && i < members.size(); ++i)
      update.alone = std::max(update.alone, adam_time(emission_.cluster.type_of(members[i]), updated_parameters(role_.cut_on(i)), software().gradient_type) *
                                                emission_.cluster.devices[index(members[i])].slowdown);
    update.alone = update.alone * emission_.jitter.kernels(cell_, {'O', 0, 0});
    Task task;
    task.label = label(TaskKind::optimizer);
    if (updates) task.slots = emission_.slots(devices_, DeviceStream::compute, 1);
    Seconds copied{};
    for (const Bucket* bucket : cut_finer_) {
      relayout_buffer_ = std::max(relayout_buffer_, element_size(gradient_type()) * parameters_of(*bucket));
      if (role_.zero > 0) continue;
      const Kernel copy = relayout(*bucket, gradient_type()).kernel;
      task.phases.push_back({Seconds(0), copy, {}});
      copied += copy.alone;
    }
    if (updates) task.phases.push_back({Seconds(0), update, {}});
    if (copied > Seconds(0)) task.label.parts = {{TaskKind::data, copied}, {TaskKind::optimizer, update.alone}};
    tasks_.optimizer = emission_.add(std::move(task));
    tasks_.updates = {tasks_.optimizer};
  }

  Emission& emission_;
  int cell_;
  std::map<int, int> exchanges_;               ///< with experts, of the operation being written, by communicator class
  const StageRole& role_;
  const std::vector<int>& devices_;
  bool private_;
  bool meets_gradients_;
  std::optional<Bytes> beside_;                ///< what a pass that runs at the same time holds for the moment
  bool beside_gradients_ = false;              ///< gradients or gathered weights may travel during this operation
  int gathers_until_ = -1, reduces_from_ = 0;  ///< turns during which they may
  Bytes relayout_buffer_{};
  std::vector<const Bucket*> cut_finer_;   ///< is_cut_finer
  const GroupClasses& groups_;
  CellTasks& tasks_;
  StageSegments segments_;
  SizedWorks sized_;
  RepeatedStage repeated_;
  std::vector<TaskSpan> layer_spans_, rebuilt_spans_;  ///< of the operation being written; meaningful where segments are layers
};

}  // namespace

void emit_compute(Emission& emission) {
  emission.cells.resize(emission.symmetry.cells.classes());
  write_by_turns(emission, [&](int cell_class) { return std::make_unique<CellWriter>(emission, cell_class); });
}

}  // namespace trainyard
