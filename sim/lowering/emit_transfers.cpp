#include "sim/lowering/emission.hpp"

namespace trainyard {
namespace {

/// Of one message over a communicator class.
CollectiveCost message_cost(const Emission& emission, const CommunicatorClass& group, Bytes size) {
  CollectiveShape shape = group.first->shape(CollectiveKind::send);
  shape.ring_rate = group.lone_rate;
  return collective_cost(shape, emission.cluster.transports[index(group.first->transport)], size);
}

void append(std::vector<Slot>& to, const std::vector<Slot>& from) { to.insert(to.end(), from.begin(), from.end()); }

/// Send and receive are calls that return when the data have arrived: the receiver makes its call when its operation before is
/// done, and the sender goes on when the transfer has ended. Calls that cross (send forward, receive backward) wait together.
/// Source: Megatron-LM, p2p_communication.py, send_forward_recv_backward.
void block_both_sides(Emission& emission, const CellTasks::Pass& sent, const CellTasks::Pass& received, TaskId receivers_last, TaskId transfer) {
  for (const TaskId after : sent.after) emission.edge(transfer, after);
  for (const TaskId before : received.before) emission.edge(before, transfer);
  if (received.before.empty()) emission.edge(receivers_last, transfer, 1);
}

/// All micro-batches over one boundary in one direction.
void emit_boundary(Emission& emission, const CommunicatorClass& group, bool forward) {
  const int sender_cell = group.first->cells[0], receiver_cell = group.first->cells[1];
  const StageRole& role = emission.placement.role(sender_cell);
  const CellTasks& sender = emission.cells[emission.cell_class(sender_cell)];
  const CellTasks& receiver = emission.cells[emission.cell_class(receiver_cell)];
  const auto members = [&](int cell) { return int(emission.placement.cells[cell].members.size()); };
  const int from = group.first->from_chunk, to = group.first->to_chunk;
  const LayerId last = forward ? role.chunks[from].back() : emission.placement.role(receiver_cell).chunks[to].back();
  const auto message_of = [&](const StageRole& sent) {
    const Bytes size = transfer_bytes(sent, *emission.placement.module, emission.workload, last, members(sender_cell), members(receiver_cell)) *
                       group.first->share;
    return message_cost(emission, group, size);
  };
  const CollectiveCost message = message_of(role);
  Task task;
  task.label.kind = TaskKind::pipeline;
  task.label.pipeline = role.pipeline;
  task.label.stage = role.position;
  task.label.detail = forward ? "forward" : "backward";
  append(task.slots, emission.slots(group.senders, forward ? DeviceStream::forward_send : DeviceStream::backward_send, 0, group.send_lane));
  append(task.slots, emission.slots(group.receivers, forward ? DeviceStream::forward_receive : DeviceStream::backward_receive, 0, group.receive_lane));
  for (const ScheduledOperation& op : role.order) {
    if (op.kind != (forward ? 'F' : 'B') || op.chunk != from) continue;
    const int m = op.micro_batch;
    task.label.micro_batch = m;
    const CollectiveCost cost = emission.next_exchange(group, role.sizes.empty() ? message : message_of(role.in(m)));
    task.phases = {{cost.delay, std::nullopt, {{group.path, cost.bytes}}}};
    const TaskId id = emission.add(task);
    const CellTasks::Pass& sent = (forward ? sender.forward : sender.backward)[from][m];
    const CellTasks::Pass& received = (forward ? receiver.forward : receiver.backward)[to][m];
    emission.edge(sent.tasks.last, id);
    emission.edge(id, received.tasks.first);
    if (!emission.overlap_pipeline) block_both_sides(emission, sent, received, receiver.optimizer, id);
  }
}

}  // namespace

void emit_transfers(Emission& emission) {
  for (const CommunicatorClass& group : emission.resources.communicators) {
    if (group.first->kind == CommunicatorKind::forward_transfer) emit_boundary(emission, group, true);
    if (group.first->kind == CommunicatorKind::backward_transfer) emit_boundary(emission, group, false);
  }
}

}  // namespace trainyard
