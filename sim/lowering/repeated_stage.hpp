// What a cell computes beside its plain passes, piece by piece.
#pragma once

#include <vector>

#include "sim/lowering/emission.hpp"

namespace trainyard {

/// The next stage's forward pass of one micro-batch on this cell's devices, and the states kept for it; empty without
/// `redundant_forward`. What the pass leaves is dropped. Source: Thorpe et al., Bamboo, NSDI'23 §4 (eager forward, lazy backward).
struct RepeatedStage {
  std::vector<TimedPiece> forward;
  Flops flops{};                         ///< on all devices of the cell
  Bytes weights{}, optimizer{};          ///< on each device
};
[[nodiscard]] RepeatedStage repeated_stage(const Emission& emission, int cell, const CellGroups& groups);

/// Of a backward pass whose weight gradients are computed apart: those, with nothing beside them.
[[nodiscard]] std::vector<TimedPiece> weight_gradients(const std::vector<TimedPiece>& backward);
/// And the rest. Collectives that ran beside a weight gradient stay, with nothing beside them.
[[nodiscard]] std::vector<TimedPiece> input_gradients(const std::vector<TimedPiece>& backward);

}  // namespace trainyard
