#include "sim/lowering/chain_writer.hpp"

#include <algorithm>

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

TaskKind traffic_kind(const TimedPiece& piece) {
  return piece.group == LayerGroup::tensor ? TaskKind::tensor : TaskKind::context;
}

void add_kernel_of(const TimedPiece& piece, Kernel& total) {
  total.flops += piece.kernel.flops;
  total.bytes += piece.kernel.bytes;
  total.alone += piece.kernel.alone;
}

}  // namespace

ChainWriter::ChainWriter(Emission& emission, const std::vector<int>& devices, const GroupClasses& groups, TaskLabel label)
    : emission_(emission), devices_(devices), groups_(groups), label_(std::move(label)), first_(kNone) {}

TaskSpan ChainWriter::merged(const std::vector<TimedPiece>& pieces) {
  Kernel total;
  std::vector<TimePart> parts;
  for (const TimedPiece& piece : pieces) {
    const Seconds exposed = piece.alone() - piece.kernel.alone;
    add_kernel_of(piece, total);
    total.alone += exposed;
    add_part(parts, piece.kind, piece.kernel.alone);
    add_part(parts, traffic_kind(piece), exposed);
  }
  const TaskId task = add_kernel(total, std::move(parts), "");
  return {task, task};
}

TaskSpan ChainWriter::chain(const std::vector<TimedPiece>& pieces, bool each_operator) {
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
    if (each_operator) {
      const TaskId task = add_kernel(piece.kernel, {{piece.kind, piece.kernel.alone}}, piece.name);
      link(task, ends_);
      ends_ = {task};
      continue;
    }
    add_kernel_of(piece, open_);
    add_part(open_parts_, piece.kind, piece.kernel.alone);
  }
  flush();
  if (ends_.empty()) ends_ = {join({})};  // weight gradients of layers without products
  return {first_, ends_.size() == 1 ? ends_.front() : join(ends_)};
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
  return emission_.add(std::move(task));
}

std::vector<TaskId> ChainWriter::add_collectives(const TimedPiece& piece) {
  const bool tensor = piece.group == LayerGroup::tensor;
  std::vector<TaskId> tasks;
  for (const int c : tensor ? groups_.tensor : groups_.context) {
    const CommunicatorClass& group = emission_.resources.communicators[c];
    Task task;
    task.label = label_;
    task.label.kind = traffic_kind(piece);
    task.label.detail = piece.name;
    task.slots = emission_.collective_slots(group.devices, tensor ? DeviceStream::tensor : DeviceStream::context);
    task.phases.push_back({piece.collective->delay, std::nullopt, {{group.path, piece.collective->bytes}}});
    tasks.push_back(emission_.add(std::move(task)));
  }
  return tasks;
}

}  // namespace trainyard
