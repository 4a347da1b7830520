#include "sim/lowering/repeated_stage.hpp"

#include "sim/cost/memory.hpp"

namespace trainyard {

RepeatedStage repeated_stage(const Emission& emission, int cell, const CellGroups& groups) {
  RepeatedStage repeated;
  const StageRole* next = emission.placement.repeated_by(emission.placement.role(cell));
  if (next == nullptr) return repeated;
  const Module& module = *emission.placement.module;
  const Cell& here = emission.placement.cells[cell];
  for (const LayerPieces& layer : stage_work(here, *next, module, emission.cluster, emission.workload, groups).layers)
    for (TimedPiece piece : layer.forward) {
      if (piece.kind == TaskKind::forward) piece.kind = TaskKind::recompute;
      repeated.flops += piece.kernel.flops * double(here.members.size());
      repeated.forward.push_back(std::move(piece));
    }
  const StaticMemory held = static_memory(module, next->layers, next->cut, emission.workload, 1, 0);
  repeated.weights = held.weights;
  repeated.optimizer = held.optimizer;
  return repeated;
}

std::vector<TimedPiece> weight_gradients(const std::vector<TimedPiece>& backward) {
  std::vector<TimedPiece> kept;
  for (const TimedPiece& piece : backward)
    if (piece.kind == TaskKind::weight_gradient) kept.push_back({piece.kind, piece.name, piece.kernel, std::nullopt, LayerGroup::tensor, {}});
  return kept;
}

std::vector<TimedPiece> input_gradients(const std::vector<TimedPiece>& backward) {
  std::vector<TimedPiece> kept;
  for (const TimedPiece& piece : backward) {
    if (piece.kind != TaskKind::weight_gradient)
      kept.push_back(piece);
    else if (piece.collective)
      kept.push_back({TaskKind::tensor, piece.name, {}, piece.collective, piece.group, piece.collective_alone});
  }
  return kept;
}

}  // namespace trainyard
