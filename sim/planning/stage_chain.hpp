// One pipeline over given devices, stage by stage, as planners for clusters of unlike parts think of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/planning/device_groups.hpp"
#include "sim/planning/layer_balance.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/planning/stage_plan.hpp"
#include "sim/planning/strategy.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// The same for all stages of a chain.
struct ChainShape {
  int micro_batch = 1;                   ///< samples through a stage of one unit; of k units each works on micro_batch / k
  int micro_batches = 1;
  RecomputeKind recompute = RecomputeKind::none;
  int zero = 0;
  int holders = 0;                       ///< that share a layer's states; 0: a stage's own units
};

/// Units that share one stage as data ranks.
using StageUnits = std::vector<TensorUnit>;

/// A planner's instruments.
struct ChainTools {
  const PlanningContext& context;
  const Router& router;
  LayerCosts& costs;
  [[nodiscard]] int layers() const { return int(costs.module().layers.size()); }
  [[nodiscard]] int default_zero() const { return context.workload.software.distributed_optimizer ? 1 : 0; }
};

/// `domains` one after the other, each cut into as many stages of `data` neighbouring units as it has; what is left over is unused.
[[nodiscard]] std::vector<StageUnits> stages_over(const std::vector<std::vector<TensorUnit>>& domains, int data);

/// What each stage would take of each layer on its slowest unit: 1f1b's micro-batches in flight, transfers to its neighbours as a
/// layer in the middle sends them. In the shape, micro_batch divides by every stage's units.
[[nodiscard]] std::vector<StageLoad> chain_loads(const ChainTools& tools, const std::vector<StageUnits>& stages, const ChainShape& shape);

/// Time to send one micro-batch's activations from a stage to the next.
[[nodiscard]] Seconds hop_time(const ChainTools& tools, const StageUnits& from, const StageUnits& to, const ChainShape& shape);

/// The exchange of gradients that backward passes do not hide, of the slowest stage.
[[nodiscard]] Seconds exposed_exchange(const ChainTools& tools, const std::vector<StageUnits>& stages, const std::vector<StageLoad>& loads,
                                       const std::vector<int>& bounds, const ChainShape& shape);

/// Layers in proportion to the stages' speed, by largest remainder, at least one each; nothing where that does not fit.
[[nodiscard]] std::optional<BalancedCut> proportional_cut(const std::vector<StageLoad>& loads);

/// The pipeline as a Plan takes it.
[[nodiscard]] PipelineChoice chain_choice(const std::vector<StageUnits>& stages, const std::vector<int>& bounds, const ChainShape& shape);

}  // namespace trainyard
