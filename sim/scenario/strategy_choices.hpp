// The section `strategies:`.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace trainyard {

/// Names looked up in the registry, options checked against the strategy's schema and by the strategy itself. `section`
/// is a list that the schema has accepted. Mistakes go to `diagnostics`.
[[nodiscard]] std::vector<StrategyChoice> read_strategies(const ConfigValue& section, const std::string& directory,
                                                          Diagnostics& diagnostics);

/// What the strategy finds wrong with its options on this cluster and workload (`Strategy::check`) goes to `diagnostics`.
void check_on(const StrategyChoice& choice, const Cluster& cluster, const Workload& workload, const std::string& directory,
              Diagnostics& diagnostics);

/// What each strategy finds wrong with its options on the clusters and workloads at hand (`Strategy::check`). A Plan that
/// fits one variant is no mistake; of one that fits none, the mistakes on the first variant are added.
void check_on_variants(const std::vector<StrategyChoice>& choices, const std::vector<Variant>& variants,
                       const std::string& directory, Diagnostics& diagnostics);

}  // namespace trainyard
