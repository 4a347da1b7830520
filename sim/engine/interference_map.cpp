#include "sim/engine/interference_map.hpp"

#include <algorithm>
#include <set>

namespace trainyard {
namespace {

using Pairs = std::set<std::pair<int, int>>;

/// (path, processor): a task with a flow on a limited path holds a slot where kernels slow flows.
Pairs slowed_pairs(const TaskGraph& graph) {
  Pairs pairs;
  const bool none = std::all_of(graph.processors.begin(), graph.processors.end(), [](const Processor& p) { return p.interference.empty(); });
  if (none) return pairs;
  for (const Task& task : graph.tasks)
    for (const TaskPhase& phase : task.phases)
      for (const Flow& flow : phase.flows)
        for (const Slot& slot : task.slots) {
          const ProcessorId processor = graph.streams[index(slot.stream)].processor;
          if (graph.paths[index(flow.path)].limit.value > 0 && !graph.processors[index(processor)].interference.empty())
            pairs.emplace(static_cast<int>(flow.path), static_cast<int>(processor));
        }
  return pairs;
}

Rows rows_of(const Pairs& pairs, std::size_t rows, bool by_path) {
  std::vector<std::pair<int, int>> entries;
  for (const auto& [path, processor] : pairs) entries.push_back(by_path ? std::pair(path, processor) : std::pair(processor, path));
  return {rows, entries};
}

}  // namespace

InterferenceMap::InterferenceMap(const TaskGraph& graph) : graph_(graph), slowed_(graph.paths.size(), 0) {
  const Pairs pairs = slowed_pairs(graph);
  paths_ = rows_of(pairs, graph.processors.size(), false);
  processors_ = rows_of(pairs, graph.paths.size(), true);
  for (const auto& [path, processor] : pairs) slowed_[static_cast<std::size_t>(path)] = 1;
  for (const Processor& processor : graph.processors) running_.emplace_back(processor.interference.size(), 0);
}

bool InterferenceMap::slows(ProcessorId processor, OperatorClass kind) const {
  const std::vector<Interference>& classes = graph_.processors[index(processor)].interference;
  return std::any_of(classes.begin(), classes.end(), [&](const Interference& one) { return one.kind == kind; });
}

void InterferenceMap::count(ProcessorId processor, OperatorClass kind, bool begins) {
  const std::vector<Interference>& classes = graph_.processors[index(processor)].interference;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i].kind == kind) running_[index(processor)][i] += begins ? 1 : -1;
}

double InterferenceMap::factor_of(std::size_t processor) const {
  const std::vector<Interference>& classes = graph_.processors[processor].interference;
  double least = 1;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (running_[processor][i] > 0) least = std::min(least, classes[i].flows_keep);
  return least;
}

double InterferenceMap::factor(PathId path) const {
  double least = 1;
  for (const int processor : processors_[index(path)]) least = std::min(least, factor_of(static_cast<std::size_t>(processor)));
  return least;
}

}  // namespace trainyard
