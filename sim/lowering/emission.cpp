#include "sim/lowering/emission.hpp"

namespace trainyard {

TaskId Emission::add(Task task) {
  lowered.graph.tasks.push_back(std::move(task));
  return id_at<TaskId>(lowered.graph.tasks.size() - 1);
}

CollectiveCost Emission::next_exchange(const CommunicatorClass& group, const CollectiveCost& cost) {
  return jitter.applied(cost, int(group.first - traffic.all.data()), exchanges[group.first]++);
}

CollectiveCost Emission::next_work(const CommunicatorClass& group, const CollectiveCost& cost) {
  return jitter.worked(cost, int(group.first - traffic.all.data()), exchanges[group.first]++);
}

void Emission::edge(TaskId from, TaskId to, int distance) { lowered.graph.edges.push_back({from, to, distance}); }

std::vector<Slot> Emission::slots(const std::vector<int>& device_classes, DeviceStream stream, double share, int lane) const {
  std::vector<Slot> slots;
  for (const int c : device_classes) slots.push_back({resources.stream(c, stream, lane), share});
  return slots;
}

std::vector<Slot> Emission::collective_slots(const std::vector<int>& device_classes, DeviceStream stream) const {
  std::vector<Slot> made = slots(device_classes, stream, 0);
  for (std::size_t i = 0; i < made.size(); ++i) made[i].compute_share = type_of(device_classes[i]).collective_share;
  return made;
}

}  // namespace trainyard
