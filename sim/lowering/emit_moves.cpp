#include <algorithm>
#include <map>
#include <utility>

#include "sim/lowering/cell_memory.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// The copies of one device class of a cell class.
class DeviceMoves {
 public:
  DeviceMoves(Emission& emission, const CommunicatorClass& down, const CommunicatorClass& up)
      : emission_(emission), down_(down), up_(up), device_(down.devices.front()), role_(emission.placement.role(down.first->cells.front())),
        tasks_(emission.cells[emission.cell_class(down.first->cells.front())]),
        memory_(cell_memory(emission, down.first->cells.front(), {device_})) {}

  void write() {
    for (const Entry& entry : role_.moves) entry.operation.kind == 'O' ? offload(entry.operation) : reload(entry);
  }

 private:
  using Pass = std::pair<int, int>;      ///< chunk, micro-batch

  static Pass pass_of(const Operation& op) { return {op.chunk, op.micro_batch}; }
  Bytes kept(int chunk) const { return memory_.passes[0][chunk].kept; }

  void offload(const Operation& op) {
    const Bytes bytes = kept(op.chunk);
    const TaskId task = add(up_, DeviceStream::d2h, op, "offload activations");
    hold(task, id_at<ProcessorId>(device_), Bytes(0), -bytes);
    hold(task, down_.host, bytes * double(down_.per_host), Bytes(0));
    emission_.edge(tasks_.forward[op.chunk][op.micro_batch].tasks.last, task);
    offloaded_[pass_of(op)] = task;
  }

  void reload(const Entry& entry) {
    const Operation& op = entry.operation;
    const Bytes bytes = kept(op.chunk);
    const TaskId task = add(down_, DeviceStream::h2d, op, "reload activations");
    hold(task, id_at<ProcessorId>(device_), bytes, Bytes(0));
    hold(task, down_.host, Bytes(0), -bytes * double(down_.per_host));
    emission_.edge(offloaded_.at(pass_of(op)), task);
    if (entry.not_before) emission_.edge(last_of(*entry.not_before), task);
    emission_.edge(task, tasks_.backward[op.chunk][op.micro_batch].tasks.first);
  }

  TaskId last_of(const Operation& op) const {
    if (op.kind == 'W') return tasks_.weight_gradients.at(pass_of(op));
    return (op.kind == 'F' ? tasks_.forward : tasks_.backward)[op.chunk][op.micro_batch].tasks.last;
  }

  TaskId add(const CommunicatorClass& group, DeviceStream stream, const Operation& op, const char* what) {
    CollectiveShape shape = group.first->shape(CollectiveKind::send);
    shape.ring_rate = group.lone_rate;
    const Transport& transport = emission_.cluster.transports[index(group.first->transport)];
    const CollectiveCost cost = emission_.next_exchange(group, collective_cost(shape, transport, kept(op.chunk)));
    Task task;
    task.label.kind = TaskKind::offload;
    task.label.pipeline = role_.pipeline;
    task.label.stage = role_.position;
    task.label.micro_batch = op.micro_batch;
    if (role_.chunks.size() > 1) task.label.chunk = op.chunk;
    task.label.detail = what;
    task.slots = emission_.slots({device_}, stream, 0);
    task.phases.push_back({cost.delay, std::nullopt, {{group.path, cost.bytes}}});
    return emission_.add(std::move(task));
  }

  void hold(TaskId task, ProcessorId where, Bytes at_start, Bytes at_end) {
    emission_.lowered.graph.tasks[index(task)].memory.push_back({where, MemoryClass::activations, at_start, at_end, std::max(Bytes(0), at_start)});
  }

  Emission& emission_;
  const CommunicatorClass &down_, &up_;
  int device_;                           ///< class
  const StageRole& role_;
  const CellTasks& tasks_;
  CellMemory memory_;
  std::map<Pass, TaskId> offloaded_;
};

const CommunicatorClass& way_up(const Emission& emission, const CommunicatorClass& down) {
  for (const CommunicatorClass& group : emission.resources.communicators)
    if (group.first->kind == CommunicatorKind::to_host && group.first->cells == down.first->cells && group.first->members == down.first->members)
      return group;
  throw InternalError("copies in one direction only");
}

}  // namespace

void emit_moves(Emission& emission) {
  for (const CommunicatorClass& down : emission.resources.communicators)
    if (down.first->kind == CommunicatorKind::to_device && emission.placement.role(down.first->cells.front()).moves_activations())
      DeviceMoves(emission, down, way_up(emission, down)).write();
}

}  // namespace trainyard
