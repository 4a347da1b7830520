#include <algorithm>

#include "sim/cost/collective_uneven.hpp"
#include "sim/cost/resharding.hpp"
#include "sim/lowering/emission.hpp"

namespace trainyard {
namespace {

TaskId add_exchange(Emission& emission, const CommunicatorClass& group, const ScheduledOperation& op) {
  const int from = group.first->cells.front();
  CollectiveShape shape = group.first->shape(group.first->pattern);
  shape.ring_rate = group.lone_rate;
  const int role = emission.placement.role_of[from], other = emission.placement.role_of[group.first->cells.back()];
  const Bytes all = micro_batch_activations(emission.placement, role, other, emission.workload.precision);
  const Transport& transport = emission.cluster.transports[index(group.first->transport)];
  std::vector<Bytes> parts;
  for (const double part : group.first->parts) parts.push_back(all * part);
  const CollectiveCost cost = emission.next_exchange(
      group, parts.empty() ? collective_cost(shape, transport, all * group.first->share)
                           : uneven_cost(shape, transport, parts, emission.placement.role(from).wire.all_gather));
  Task task;
  task.label.kind = TaskKind::tensor;
  task.label.pipeline = emission.placement.role(from).pipeline;
  task.label.stage = emission.placement.role(from).position;
  task.label.micro_batch = op.micro_batch;
  task.label.detail = group.first->pattern == CollectiveKind::all_gather ? "gather activations" : "exchange activations";
  task.slots = emission.slots(group.devices, DeviceStream::tensor, 0);
  task.phases.push_back({cost.delay, std::nullopt, {{group.path, cost.bytes}}});
  return emission.add(std::move(task));
}

}  // namespace

std::vector<std::pair<TaskId, std::vector<int>>> emit_resharding(Emission& emission, const ScheduledOperation& op,
                                                                 const std::vector<int>& cell_classes) {
  std::vector<std::pair<TaskId, std::vector<int>>> exchanges;
  if (op.kind == 'W') return exchanges;
  const CommunicatorKind kind = op.kind == 'F' ? CommunicatorKind::reshard_forward : CommunicatorKind::reshard_backward;
  for (const int resharding : emission.resources.reshardings) {
    const CommunicatorClass& group = emission.resources.communicators[resharding];
    if (group.first->kind != kind) continue;
    const int from_role = emission.placement.role_of[group.first->cells.front()];
    std::vector<int> senders, receivers;
    for (const int cell : group.first->cells)
      (emission.placement.role_of[cell] == from_role ? senders : receivers).push_back(emission.cell_class(cell));
    if (std::ranges::find_first_of(receivers, cell_classes) == receivers.end()) continue;
    const TaskId task = add_exchange(emission, group, op);
    std::ranges::sort(senders);
    senders.erase(std::ranges::unique(senders).begin(), senders.end());
    for (const int c : senders)
      emission.edge((op.kind == 'F' ? emission.cells[c].forward : emission.cells[c].backward)[op.chunk][op.micro_batch].tasks.last, task);
    exchanges.emplace_back(task, std::move(receivers));
  }
  return exchanges;
}

}  // namespace trainyard
