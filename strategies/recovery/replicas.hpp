// A Plan taken apart into its replicas, and pipelines made of whole nodes; private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "sim/planning/strategy.hpp"

namespace trainyard {

/// One pipeline of one data rank: every layer once.
struct Replica {
  double batch = 0;
  int micro_batches = 1;
  std::vector<Stage> stages;             ///< of one chunk; its layout has no data axis of more than 1
};

/// Nothing where stages have several chunks, axes other than data and tensor (data outermost), or different numbers of data ranks.
[[nodiscard]] std::optional<std::vector<Replica>> replicas_of(const Plan& plan);
/// The same Plan with these replicas, a pipeline each, longer ones first.
[[nodiscard]] Plan plan_of_replicas(const Plan& like, const std::vector<Replica>& replicas);

/// What pipelines made by best_pipelines are like.
struct PipelineShape {
  int tensor = 1;
  int sequences = 1;                     ///< of a micro-batch
  Recompute recompute;
  bool redundant_forward = false;
};
/// As the first stage of the Plan has it.
[[nodiscard]] PipelineShape shape_of(const Plan& plan, const Workload& workload);

/// The fastest, of the best in closed form that are simulated, of the Plans with `at_least` or more pipelines that each take a run of whole nodes, as many as equally as
/// possible, cut so that their slowest stages are fastest; samples by the pipelines' speed, states whole (`zero: 0`). Nothing: none fits.
[[nodiscard]] std::optional<Plan> best_pipelines(const PlanningContext& context, const PipelineShape& shape, int at_least);
/// The same for given runs of nodes, one a pipeline: the one Plan, not simulated.
[[nodiscard]] std::optional<Plan> pipelines_of(const PlanningContext& context, const PipelineShape& shape,
                                               const std::vector<std::vector<NodeId>>& runs);

/// The Plan if it passes Plan::check and fits in memory.
[[nodiscard]] bool fits(const PlanningContext& context, const Plan& plan);
/// The same by its memory in closed form: for Plans that are simulated next.
[[nodiscard]] bool seems_to_fit(const PlanningContext& context, const Plan& plan);
/// Every stage with these settings on top.
[[nodiscard]] Plan with_settings(Plan plan, const Settings& settings);

}  // namespace trainyard
