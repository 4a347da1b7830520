#include "sim/lowering/layer_visits.hpp"

#include "sim/cost/memory.hpp"

namespace trainyard {

std::vector<LayerVisit> layer_visits(const Module& module, const StageRole& role, const ScheduledOperation& op) {
  const std::vector<LayerId>& chunk = role.chunks[op.chunk];
  std::vector<LayerVisit> visits;
  if (op.kind == 'F') {
    for (std::size_t i = 0; i < chunk.size(); ++i) visits.push_back({i, false, false});
    return visits;
  }
  const std::vector<RecomputeBlock> blocks = recompute_blocks(module, chunk, role.recompute_of(op.chunk));
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const bool several = block->to - block->from > 1;
    for (std::size_t i = block->from; several && i < block->to; ++i) visits.push_back({i, true, false});
    for (std::size_t i = block->to; i-- > block->from;) visits.push_back({i, false, !several});
  }
  return visits;
}

TaskSpan LayerUse::tasks(const CellTasks& cell) const {
  const CellTasks::Pass& pass = (op.kind == 'F' ? cell.forward : cell.backward)[op.chunk][op.micro_batch];
  const auto span = [&](const LayerVisit& visit) { return (visit.rebuilds ? pass.rebuilt : pass.layers)[visit.position]; };
  return {span(visits.front()).first, span(visits.back()).last};
}

std::vector<LayerUse> layer_uses(const Emission& emission, const StageRole& role) {
  std::vector<LayerUse> uses;
  for (const ScheduledOperation& op : role.order) {
    const std::size_t first = uses.size();
    for (const LayerVisit& visit : layer_visits(*emission.placement.module, role, op)) {
      const LayerId layer = role.chunks[op.chunk][visit.position];
      if (uses.size() == first || uses.back().layer != layer) uses.push_back({op, layer, {}});
      uses.back().visits.push_back(visit);
    }
  }
  return uses;
}

}  // namespace trainyard
