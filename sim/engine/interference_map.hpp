// Which kernels slow which paths, and by how much right now. Knows nothing of SimGrid.
#pragma once

#include <span>
#include <vector>

#include "sim/engine/task_queue.hpp"
#include "sim/model/task_graph.hpp"

namespace trainyard {

/// Counts the kernels that run on each processor, by class; see Path in task_graph.hpp for what they do.
class InterferenceMap {
 public:
  explicit InterferenceMap(const TaskGraph& graph);

  /// [path] whether any kernel of the graph can slow it.
  [[nodiscard]] const std::vector<char>& slowed_paths() const { return slowed_; }
  [[nodiscard]] bool slows(ProcessorId processor, OperatorClass kind) const;
  void count(ProcessorId processor, OperatorClass kind, bool begins);
  /// Paths that kernels on this processor slow.
  [[nodiscard]] std::span<const int> paths_of(ProcessorId processor) const { return paths_[index(processor)]; }
  /// What the kernels that run now leave of the path's limit.
  [[nodiscard]] double factor(PathId path) const;

 private:
  [[nodiscard]] double factor_of(std::size_t processor) const;

  const TaskGraph& graph_;
  Rows paths_, processors_;                    ///< [processor] slowed paths; [path] processors that slow it
  std::vector<std::vector<int>> running_;      ///< [processor][position in Processor::interference]
  std::vector<char> slowed_;
};

}  // namespace trainyard
