// What 10 % more of each resource would buy, by simulating the same Plan on the scaled cluster.
#pragma once

#include <vector>

#include "sim/engine/workers.hpp"
#include "sim/job/case.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/sensitivity.hpp"

namespace trainyard {

inline constexpr double kMoreOfIt = 1.1;

/// Of each kind of GPU that the Plan uses: its FLOP/s (matrix products and attention), its memory bandwidth; of each
/// class of links that the cluster has: its bandwidth; the size of all GPUs' memory, for which the strategy plans
/// again; the price of each group of nodes that the Plan uses. `step`: as it is. Cost: a simulation each (graphs that
/// the change leaves alone are not simulated again), and one search.
[[nodiscard]] std::vector<ResourceGain> sensitivity_of(const Case& which, const Plan& plan, const StepReport& step,
                                                       const CaseOptions& options, const WorkerNursery& nursery);

}  // namespace trainyard
