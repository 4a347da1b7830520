#include "sim/lowering/memory_profile.hpp"

#include <algorithm>

namespace trainyard {
namespace {

struct Change {
  double at;
  int order;                             ///< 0: an end, 1: a start
  MemoryClass kind;
  Bytes stays, passes;                   ///< held from now on; held until the task ends
  Bytes at_once{};                       ///< held by a task that takes no time, beside what others hold then
};

Bytes sum(const MemoryBreakdown& held) {
  Bytes total{};
  for (const Bytes part : held) total += part;
  return total;
}

MemoryPeak peak_of(MemoryBreakdown held, std::vector<Change>& changes) {
  std::ranges::stable_sort(changes, {}, [](const Change& c) { return std::pair(c.at, c.order); });
  MemoryPeak peak{sum(held), held, Seconds(0)};
  for (const Change& change : changes) {
    held[std::size_t(change.kind)] += change.stays + change.passes;
    if (const Bytes now = sum(held) + change.at_once; now > peak.peak) {
      peak = {now, held, Seconds(change.at)};
      peak.at_peak[std::size_t(change.kind)] += change.at_once;
    }
  }
  return peak;
}

}  // namespace

std::vector<MemoryPeak> memory_peaks(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<MemoryBreakdown> resident(graph.processors.size());
  for (const Resident& r : graph.residents) resident[index(r.processor)][std::size_t(r.kind)] += r.bytes;
  std::vector<std::vector<Change>> changes(graph.processors.size());
  for (std::size_t i = 0; i < timeline.status.size(); ++i) {
    if (timeline.status[i] == TaskStatus::never_started) continue;
    for (const Memory& memory : graph.tasks[i % graph.tasks.size()].memory) {
      auto& list = changes[index(memory.processor)];
      const Bytes passing = std::max(Bytes(0), memory.peak_inside - memory.at_start);
      const bool at_once = timeline.status[i] == TaskStatus::done && timeline.start[i] == timeline.end[i];
      const Bytes meanwhile = at_once ? Bytes(0) : passing;
      list.push_back({timeline.start[i].value, 1, memory.kind, memory.at_start, meanwhile, passing - meanwhile});
      if (timeline.status[i] == TaskStatus::done) list.push_back({timeline.end[i].value, 0, memory.kind, memory.at_end, -meanwhile});
    }
  }
  std::vector<MemoryPeak> peaks;
  for (std::size_t p = 0; p < changes.size(); ++p) peaks.push_back(peak_of(resident[p], changes[p]));
  return peaks;
}

}  // namespace trainyard
