#include "sim/report/course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace trainyard {
namespace {

bool ran(const Timeline& timeline, std::size_t task) {
  return is_finite(timeline.start[task]) && is_finite(timeline.end[task]);
}

struct MemoryChange {
  Seconds at{};
  MemoryClass kind{};
  double bytes = 0;
};

void collect(const Memory& memory, Seconds start, Seconds end, std::vector<MemoryChange>& changes) {
  const double during = std::max(memory.at_start.value, memory.peak_inside.value);
  const double after = memory.at_start.value + memory.at_end.value;
  changes.push_back({start, memory.kind, during});
  changes.push_back({end, memory.kind, after - during});
}

std::vector<std::vector<MemoryChange>> changes_by_processor(const StepTrace& trace) {
  const auto& [graph, timeline] = trace;
  std::vector<std::vector<MemoryChange>> all(graph.processors.size());
  for (const Resident& resident : graph.residents)
    all[index(resident.processor)].push_back({Seconds(0), resident.kind, resident.bytes.value});
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (!ran(timeline, i)) continue;
    for (const Memory& memory : graph.tasks[i].memory)
      collect(memory, timeline.start[i], timeline.end[i], all[index(memory.processor)]);
  }
  for (auto& changes : all) std::ranges::stable_sort(changes, {}, &MemoryChange::at);
  return all;
}

struct LoadChange {
  Seconds at{};
  double bytes_per_s = 0;
  int flows = 0;  ///< +1 starts, -1 ends
};

/// Sums of what comes and goes are not exact: without flows the load is 0.
std::vector<LoadPoint> summed(std::vector<LoadChange> changes) {
  std::ranges::stable_sort(changes, {}, &LoadChange::at);
  std::vector<LoadPoint> course;
  double load = 0;
  int flows = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    load += changes[i].bytes_per_s;
    flows += changes[i].flows;
    if (flows == 0) load = 0;
    if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
    course.push_back({changes[i].at, std::max(load, 0.0)});
  }
  return course;
}

/// Paths behind the channels; changes of each.
class LoadCollector {
 public:
  explicit LoadCollector(const StepTrace& trace)
      : graph_(trace.graph),
        changes_(graph_.channels.size() + graph_.paths.size()),
        names_(graph_.paths.size()),
        devices_(graph_.paths.size()) {
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i)
      if (ran(trace.timeline, i) && trace.timeline.end[i] > trace.timeline.start[i])
        add_task(graph_.tasks[i], trace.timeline.start[i], trace.timeline.end[i]);
  }

  std::vector<LinkLoad> loads() {
    std::vector<LinkLoad> all;
    for (std::size_t c = 0; c < graph_.channels.size(); ++c)
      add_load(graph_.channels[c].name, graph_.channels[c].capacity, "", changes_[c], all);
    for (std::size_t p = 0; p < graph_.paths.size(); ++p)
      add_load(names_[p], graph_.paths[p].limit, devices_[p], changes_[graph_.channels.size() + p], all);
    return all;
  }

 private:
  void add_task(const Task& task, Seconds start, Seconds end) {
    for (const TaskPhase& phase : task.phases)
      for (const Flow& flow : phase.flows) add_flow(task, flow, start, end);
  }

  void add_flow(const Task& task, const Flow& flow, Seconds start, Seconds end) {
    if (flow.bytes.value <= 0) return;
    const Path& path = graph_.paths[index(flow.path)];
    const double rate = flow.bytes.value / (end - start).value;
    const auto add = [&](std::size_t link, double load) {
      changes_[link].push_back({start, load, 1});
      changes_[link].push_back({end, -load, -1});
    };
    for (const auto& [channel, times] : path.channels) add(index(channel), rate * times);
    if (!path.channels.empty() || path.limit.value <= 0) return;
    name_path(task, index(flow.path));
    add(graph_.channels.size() + index(flow.path), rate);
  }

  void name_path(const Task& task, std::size_t path) {
    if (!names_[path].empty()) return;
    std::vector<std::string> ends;
    for (const Slot& slot : task.slots) {
      const std::string& device = graph_.processors[index(graph_.streams[index(slot.stream)].processor)].name;
      if (std::ranges::find(ends, device) == ends.end()) ends.push_back(device);
    }
    names_[path] = fmt::format("{} links of {}", name(task.label.kind), ends.empty() ? "nobody" : ends.front());
    if (ends.size() > 1) names_[path] += " to " + ends[1];
    if (ends.size() > 2) names_[path] += fmt::format(" and {} more", ends.size() - 2);
    devices_[path] = ends.empty() ? "" : ends.front();
  }

  static void add_load(const std::string& name, BytesPerSecond capacity, const std::string& device,
                       std::vector<LoadChange>& changes, std::vector<LinkLoad>& all) {
    if (!changes.empty()) all.push_back({name, capacity, device, summed(std::move(changes))});
  }

  const TaskGraph& graph_;
  std::vector<std::vector<LoadChange>> changes_;  ///< [channel, then path]
  std::vector<std::string> names_, devices_;      ///< [path]
};

}  // namespace

double HeldPoint::total() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

std::vector<std::vector<HeldPoint>> held_bytes(const StepTrace& trace) {
  std::vector<std::vector<HeldPoint>> all;
  for (const std::vector<MemoryChange>& changes : changes_by_processor(trace)) {
    std::vector<HeldPoint>& points = all.emplace_back();
    HeldBytes held{};
    for (std::size_t i = 0; i < changes.size(); ++i) {
      held[static_cast<std::size_t>(changes[i].kind)] += changes[i].bytes;
      if (i + 1 == changes.size() || changes[i + 1].at != changes[i].at) points.push_back({changes[i].at, held});
    }
  }
  return all;
}

std::vector<LinkLoad> link_loads(const StepTrace& trace) { return LoadCollector(trace).loads(); }

LinkUse use_of(const LinkLoad& link, Seconds from, Seconds to) {
  double carried = 0, busy = 0;
  for (std::size_t i = 0; i < link.course.size(); ++i) {
    const Seconds start = std::max(link.course[i].at, from);
    const Seconds end = std::min(i + 1 < link.course.size() ? link.course[i + 1].at : to, to);
    if (end <= start || link.course[i].bytes_per_s <= 0) continue;
    carried += link.course[i].bytes_per_s * (end - start).value;
    busy += (end - start).value;
  }
  const double length = (to - from).value;
  return length > 0 ? LinkUse{carried / (link.capacity.value * length), busy / length} : LinkUse{};
}

}  // namespace trainyard
