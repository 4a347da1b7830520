#include "sim/lowering/time_breakdown.hpp"

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

constexpr int kKinds = static_cast<int>(TaskKind::other) + 1;
/// Which traffic an idle moment is put down to when several run.
constexpr std::array kTrafficOrder{TaskKind::tensor,   TaskKind::expert, TaskKind::context, TaskKind::pipeline,
                                   TaskKind::data,     TaskKind::offload, TaskKind::optimizer, TaskKind::other};

Seconds& slot(TimeBreakdown& time, TaskKind kind) {
  switch (kind) {
    case TaskKind::forward: return time.forward;
    case TaskKind::backward:
    case TaskKind::weight_gradient: return time.backward;
    case TaskKind::recompute: return time.recompute;
    case TaskKind::tensor: return time.tensor;
    case TaskKind::pipeline: return time.pipeline;
    case TaskKind::data: return time.data;
    case TaskKind::expert: return time.expert;
    case TaskKind::context: return time.context;
    case TaskKind::optimizer: return time.optimizer;
    case TaskKind::offload: return time.offload;
    case TaskKind::other: return time.other;
  }
  return time.other;
}

/// A change in what runs on a device: +1 or -1 of a kind of traffic (or of compute, kind -1).
struct Change {
  double at;
  int kind, by;
};

struct DeviceTime {
  TimeBreakdown time;
  std::vector<Change> changes;
};

void add_compute(const Task& task, Seconds length, TimeBreakdown& time) {
  Seconds parts{};
  for (const TimePart& part : task.label.parts) parts += part.time;
  if (parts <= Seconds(0)) {
    slot(time, task.label.kind) += length;
    return;
  }
  for (const TimePart& part : task.label.parts) slot(time, part.kind) += length * (part.time / parts);
}

/// Puts the moments without compute down to traffic or bubble.
void add_idle(DeviceTime& device, double from, double to) {
  std::ranges::sort(device.changes, {}, [](const Change& c) { return std::pair(c.at, c.kind * 4 + c.by); });
  std::array<int, kKinds> running{};
  int computing = 0;
  double now = from;
  const auto close = [&](double until) {
    if (until <= now) return;
    if (computing == 0) {
      const auto kind = std::ranges::find_if(kTrafficOrder, [&](TaskKind k) { return running[int(k)] > 0; });
      (kind == kTrafficOrder.end() ? device.time.bubble : slot(device.time, *kind)) += Seconds(until - now);
    }
    now = until;
  };
  for (const Change& change : device.changes) {
    close(change.at);
    (change.kind < 0 ? computing : running[change.kind]) += change.by;
  }
  close(to);
}

}  // namespace

TimeBreakdown time_breakdown(const Lowered& lowered, const Timeline& timeline, Seconds from, Seconds to) {
  const TaskGraph& step = lowered.graph;
  std::vector<DeviceTime> devices(step.processors.size());
  for (std::size_t i = 0; i < timeline.start.size(); ++i) {
    const Task& task = step.tasks[i % step.tasks.size()];
    const double start = std::max(timeline.start[i].value, from.value);
    const double end = is_finite(timeline.end[i]) ? std::min(timeline.end[i].value, to.value) : to.value;
    if (!(end > start)) continue;
    for (const Slot& held : task.slots) {
      DeviceTime& device = devices[index(step.streams[index(held.stream)].processor)];
      const bool compute = held.compute_share >= 1;
      if (compute) add_compute(task, Seconds(end - start), device.time);
      const int kind = compute ? -1 : int(task.label.kind);
      device.changes.push_back({start, kind, 1});
      device.changes.push_back({end, kind, -1});
    }
  }
  TimeBreakdown sum;
  double count = 0;
  for (std::size_t p = 0; p < lowered.devices.size(); ++p) {  // hosts stand behind the devices
    add_idle(devices[p], from.value, to.value);
    devices[p].time *= lowered.devices[p].devices;
    sum += devices[p].time;
    count += lowered.devices[p].devices;
  }
  sum *= 1 / count;
  return sum;
}

}  // namespace trainyard
