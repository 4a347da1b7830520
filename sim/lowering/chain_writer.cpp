#include "sim/lowering/chain_writer.hpp"

#include <algorithm>

#include "sim/cost/slice_order.hpp"

namespace trainyard {
namespace {

constexpr TaskId kNone = static_cast<TaskId>(-1);

void add_part(std::vector<TimePart>& parts, TaskKind kind, Seconds time) {
  if (time <= Seconds(0)) return;
  const auto known = std::ranges::find(parts, kind, &TimePart::kind);
  if (known == parts.end())
    parts.push_back({kind, time});
  else
    known->time += time;
}

/// Exchanges with cells of other classes have a stream to themselves: their order is that of the cell which is written first.
DeviceStream stream_of(LayerGroup group) {
  switch (group) {
    case LayerGroup::context: return DeviceStream::context;
    case LayerGroup::expert: return DeviceStream::expert;
    default: return DeviceStream::tensor;
  }
}

TaskKind traffic_kind(const TimedPiece& piece) {
  switch (piece.group) {
    case LayerGroup::context: return TaskKind::context;
    case LayerGroup::expert: return TaskKind::expert;
    default: return TaskKind::tensor;
  }
}

void add_kernel_of(const TimedPiece& piece, Kernel& total, int times = 1) {
  total.flops += piece.kernel.flops * double(times);
  total.bytes += piece.kernel.bytes * double(times);
  total.alone += piece.kernel.alone * double(times);
}

/// Pieces of each of `slices` slices that take `time` together: what kernels leave of it is exposed traffic.
void add_slices_of(const std::vector<TimedPiece>& pieces, int slices, Seconds time, Kernel& total, std::vector<TimePart>& parts) {
  const Seconds before = total.alone;
  for (const TimedPiece& piece : pieces) {
    add_kernel_of(piece, total, slices);
    add_part(parts, piece.kind, piece.kernel.alone * double(slices));
  }
  add_part(parts, TaskKind::tensor, time - (total.alone - before));
  total.alone = before + time;
}

}  // namespace

ChainWriter::ChainWriter(Emission& emission, const std::vector<int>& devices, const GroupClasses& groups, TaskLabel label,
                         const ScheduledOperation& op, std::map<int, int>& exchanges)
    : emission_(emission), devices_(devices), groups_(groups), label_(std::move(label)), op_(op), exchanges_(exchanges), first_(kNone) {}

TaskSpan ChainWriter::merged(const PassPieces& pieces, const LayerCut& cut) {
  Kernel total;
  std::vector<TimePart> parts;
  const auto add = [&](const std::vector<TimedPiece>& several) {
    for (const TimedPiece& piece : several) {
      const Seconds exposed = piece.alone() - piece.kernel.alone;
      add_kernel_of(piece, total);
      total.alone += exposed;
      add_part(parts, piece.kind, piece.kernel.alone);
      add_part(parts, traffic_kind(piece), exposed);
    }
  };
  add(pieces.before);
  if (cut.slices == Slices{})
    add(pieces.layers);
  else
    add_slices_of(pieces.layers, cut.slices.rows, pass_time(pieces.layers, cut), total, parts);
  add(pieces.behind);
  const TaskId task = add_kernel(total, std::move(parts), "");
  return {task, task};
}

TaskSpan ChainWriter::chain(const PassPieces& pieces, const LayerCut& cut, bool each_operator) {
  add(pieces.before, each_operator);
  if (cut.slices == Slices{})
    add(pieces.layers, each_operator);
  else
    add_slices(pieces.layers, cut, each_operator);
  add(pieces.behind, each_operator);
  flush();
  if (ends_.empty()) ends_ = {join({})};  // weight gradients of layers without products
  return {first_, ends_.size() == 1 ? ends_.front() : join(ends_)};
}

void ChainWriter::add(const std::vector<TimedPiece>& pieces, bool each_operator) {
  for (const TimedPiece& piece : pieces) {
    if (piece.collective && piece.kernel.alone > Seconds(0)) {
      write_beside(piece);
      continue;
    }
    if (piece.collective) {
      flush();
      write_together(add_collectives(piece));
      continue;
    }
    if (piece.kernel.alone <= Seconds(0)) continue;
    if (each_operator) {
      const TaskId task = add_kernel(piece.kernel, {{piece.kind, piece.kernel.alone}}, piece.name);
      link(task, ends_);
      ends_ = {task};
      continue;
    }
    add_kernel_of(piece, open_);
    add_part(open_parts_, piece.kind, piece.kernel.alone);
  }
}

void ChainWriter::add_slices(const std::vector<TimedPiece>& pieces, const LayerCut& cut, bool each_operator) {
  flush();
  if (pieces.empty()) return;
  if (ends_.empty()) ends_ = {join({})};
  const SliceOrder order = slice_order(pieces, cut, each_operator);
  std::vector<std::vector<TaskId>> written;
  for (const SliceStep& step : order.steps) {
    written.push_back(step.collective ? add_collectives(pieces[step.from]) : std::vector{add_run(pieces, step)});
    for (const TaskId task : written.back()) {
      if (step.after.empty()) link(task, ends_);
      for (const std::size_t before : step.after) link(task, written[before]);
    }
  }
  ends_.clear();
  for (const std::size_t last : order.last) ends_.insert(ends_.end(), written[last].begin(), written[last].end());
}

/// The kernels of one step of a slice.
TaskId ChainWriter::add_run(const std::vector<TimedPiece>& pieces, const SliceStep& step) {
  Kernel run;
  std::vector<TimePart> parts;
  for (std::size_t i = step.from; i < step.to; ++i) {
    add_kernel_of(pieces[i], run);
    add_part(parts, pieces[i].kind, pieces[i].kernel.alone);
  }
  return add_kernel(run, std::move(parts), step.to == step.from + 1 ? pieces[step.from].name : "");
}

void ChainWriter::write_beside(const TimedPiece& piece) {
  flush();
  const TaskId kernel = add_kernel(piece.kernel, {{piece.kind, piece.kernel.alone}}, piece.name);
  std::vector<TaskId> together = add_collectives(piece);
  together.push_back(kernel);
  write_together(std::move(together));
}

/// All start when what stands before has ended; at the beginning of a chain one task must stand for it.
void ChainWriter::write_together(std::vector<TaskId> tasks) {
  if (ends_.empty() && tasks.size() > 1) ends_ = {join({})};
  for (const TaskId task : tasks) link(task, ends_);
  ends_ = std::move(tasks);
}

void ChainWriter::flush() {
  if (open_.alone <= Seconds(0)) return;
  const TaskId task = add_kernel(open_, std::move(open_parts_), "");
  link(task, ends_);
  ends_ = {task};
  open_ = {};
  open_parts_.clear();
}

void ChainWriter::link(TaskId task, const std::vector<TaskId>& after) {
  for (const TaskId before : after) emission_.edge(before, task);
  if (first_ == kNone) first_ = task;
}

TaskId ChainWriter::join(const std::vector<TaskId>& ends) {
  Task task;
  task.label = label_;
  const TaskId joined = emission_.add(std::move(task));
  link(joined, ends);
  return joined;
}

TaskId ChainWriter::add_kernel(const Kernel& kernel, std::vector<TimePart> parts, const std::string& detail) {
  Task task;
  task.label = label_;
  task.label.parts = std::move(parts);
  task.label.detail = detail;
  task.slots = emission_.slots(devices_, DeviceStream::compute, 1);
  task.phases.push_back({Seconds(0), kernel, {}});
  task.priority = after_kernel_ && emission_.lowered.graph.streams[index(task.slots.front().stream)].discipline == Discipline::priority;
  after_kernel_ = true;
  return emission_.add(std::move(task));
}

std::vector<TaskId> ChainWriter::add_collectives(const TimedPiece& piece) {
  after_kernel_ = false;
  std::vector<TaskId> tasks;
  for (const int c : groups_.of(piece.group)) {
    const CommunicatorClass& group = emission_.resources.communicators[c];
    TaskId* meeting = meeting_of(c, piece);
    if (meeting && *meeting != kNone) {
      tasks.push_back(*meeting);
      continue;
    }
    Task task;
    task.label = label_;
    task.label.kind = traffic_kind(piece);
    task.label.detail = piece.name;
    task.slots = emission_.collective_slots(group.devices, stream_of(piece.group));
    task.phases.push_back({piece.collective->delay, std::nullopt, {{group.path, piece.collective->bytes}}});
    tasks.push_back(emission_.add(std::move(task)));
    if (meeting) *meeting = tasks.back();
  }
  return tasks;
}

/// Where cells of several classes exchange, the first to be written makes the task and the others join it.
TaskId* ChainWriter::meeting_of(int group, const TimedPiece& piece) {
  if (piece.group != LayerGroup::expert) return nullptr;
  if (cell_classes_of(emission_, emission_.resources.communicators[group]).size() == 1) return nullptr;
  const Meeting key{group, op_.kind, op_.chunk, op_.micro_batch, exchanges_[group]++};
  return &emission_.meetings.try_emplace(key, kNone).first->second;
}

}  // namespace trainyard
