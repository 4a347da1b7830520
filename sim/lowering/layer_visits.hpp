// In which order an operation works on the layers of its chunk.
#pragma once

#include <vector>

#include "sim/lowering/emission.hpp"
#include "sim/cost/schedule.hpp"

namespace trainyard {

/// One layer at work in an operation.
struct LayerVisit {
  std::size_t position = 0;              ///< of the layer in its chunk
  bool rebuilds = false;                 ///< its forward pass again, apart from its backward pass
  bool rebuilds_first = false;           ///< backward: what it recomputes stands directly before it
};

/// Forward: layer by layer. Backward: from the last layer to the first; where activations are kept every n layers, block by block, first
/// the forward passes of the block again, then its backward passes (Chen et al., arXiv 1604.06174 §3).
[[nodiscard]] std::vector<LayerVisit> layer_visits(const Module& module, const StageRole& role, const ScheduledOperation& op);

/// One stay of a layer on the device: neighbouring visits that need the same weights.
struct LayerUse {
  ScheduledOperation op;                 ///< of its first visit
  LayerId layer{};
  std::vector<LayerVisit> visits;        ///< of one operation each; one, or a rebuild and the backward pass after it
  /// First and last task in a cell class that writes layer by layer.
  [[nodiscard]] TaskSpan tasks(const CellTasks& cell) const;
  /// Whether its last visit is a backward pass.
  [[nodiscard]] bool makes_gradients() const { return op.kind == 'B' && !visits.back().rebuilds; }
};

/// All uses of a stage in the order of its schedule.
[[nodiscard]] std::vector<LayerUse> layer_uses(const Emission& emission, const StageRole& role);

}  // namespace trainyard
