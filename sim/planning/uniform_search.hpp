// Equal stages over a list of devices: the search that Megatron-LM users do by hand.
#pragma once

#include <variant>
#include <vector>

#include "sim/planning/strategy.hpp"

namespace trainyard {

struct UniformSearchOptions {
  int simulate = 20;                     ///< candidates that are simulated
  int most_context = 1;                  ///< largest degree of a context axis that is tried, powers of two
  std::vector<Settings> settings{Settings{}};   ///< tried with each shape, beside its recompute; slices where there is a tensor axis
};

struct UniformPlan {
  Planned planned;
  Seconds step_time{};                   ///< simulated
};
using UniformOrInfeasible = std::variant<UniformPlan, Infeasible>;

/// tensor x context x pipeline x data x micro-batch x recompute by Megatron-LM's rules: tensor a power of two inside a node that divides the
/// (key-value) heads, pipeline divides the layers, data x micro-batch divides the batch, tensor x pipeline x data = devices.
/// Candidates that fit are ranked in closed form and the best are simulated. Where the rules allow no layout on all of the nodes, the
/// last nodes are left out until they do. `nodes`: whole nodes, in order.
/// Source: Narayanan et al., arXiv 2104.04473 §5.
[[nodiscard]] UniformOrInfeasible search_uniform(const PlanningContext& context, const std::vector<NodeId>& nodes,
                                                 const UniformSearchOptions& options);

}  // namespace trainyard
