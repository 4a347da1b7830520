#include "sim/lowering/alone.hpp"

#include <algorithm>

namespace trainyard {
namespace {

Seconds alone(const TaskGraph& graph, const Flow& flow) {
  const Path& path = graph.paths[index(flow.path)];
  Seconds longest = path.limit.value > 0 ? flow.bytes / path.limit : Seconds(0);
  for (const auto& [channel, multiplicity] : path.channels)
    longest = std::max(longest, flow.bytes * double(multiplicity) / graph.channels[index(channel)].capacity);
  return path.latency + longest;
}

}  // namespace

void make_communication_alone(TaskGraph& graph) {
  for (Task& task : graph.tasks)
    for (TaskPhase& phase : task.phases) {
      Seconds longest{};
      for (const Flow& flow : phase.flows) longest = std::max(longest, alone(graph, flow));
      phase.flows.clear();
      if (phase.kernel) phase.kernel->alone = std::max(phase.kernel->alone, longest);
      else phase.delay += longest;
    }
}

}  // namespace trainyard
