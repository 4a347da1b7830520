// Plan <-> YAML and JSON: the tree with names (SymbolicPlan), its short form, and its resolution against a cluster and workload.
#pragma once

#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/symbolic_plan.hpp"

namespace trainyard {

struct Cluster;
struct Workload;

/// Reads a Plan, long or short form (plans.md §1). Every mistake goes to `diagnostics` with its place.
[[nodiscard]] SymbolicPlan read_plan(const ConfigValue& value, Diagnostics& diagnostics);

/// The canonical text: long form keys in the grammar's order, flow style where a level is short. Reading it gives an equal value.
[[nodiscard]] std::string to_yaml(const SymbolicPlan& plan);
/// The same tree as JSON text (for results and external planners).
[[nodiscard]] std::string to_json(const SymbolicPlan& plan);

/// Ids for names; the short form is expanded, defaults that depend on cluster and workload are filled in (devices, batch,
/// micro-batches, even layers). Names that do not exist, sizes that do not divide and the like go to `diagnostics`.
[[nodiscard]] Plan resolve(const SymbolicPlan& plan, const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics);

/// The long form of a resolved Plan, with names.
[[nodiscard]] SymbolicPlan describe(const Plan& plan, const Cluster& cluster, const Workload& workload);

/// One line for tables: `TP8 · PP4 [10,12,12,6] · DP2 · micro-batch 1 · 1f1b · recompute selective`.
[[nodiscard]] std::string one_line(const Plan& plan, const Cluster& cluster, const Workload& workload);

/// Short form for planners that lay equal stages over a list of devices.
struct ShortPlan {
  int tensor = 1, context = 1, expert = 1, expert_tensor = 1, data = 1, pipeline = 1, chunks = 1, shard = 1;
  double micro_batch = 1;                ///< samples per data rank
  std::string schedule = "1f1b";
  std::vector<int> layers;               ///< decoder layers a stage (or chunk); empty: even, the remainder to the earlier ones
  std::vector<DeviceId> devices;         ///< empty: the whole cluster
  std::vector<std::string> rank_order;   ///< empty: tensor, context, data, pipeline (fastest first)
  Settings settings;                     ///< without layout
};

/// The Plan, or why there is none (sizes that do not divide the devices, the batch or the heads).
struct Expanded {
  Plan plan;
  std::string why_not;                   ///< "" = plan holds
  std::string key = {};                  ///< of the short form, that it is about; "": of the whole
};
[[nodiscard]] Expanded expand(const ShortPlan& plan, const Cluster& cluster, const Workload& workload);

}  // namespace trainyard
