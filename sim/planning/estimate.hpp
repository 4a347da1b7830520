// A step's time and memory in closed form: for planners that must rank thousands of Plans before they simulate a few.
#pragma once

#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/step_report.hpp"
#include "sim/model/workload.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

struct StepEstimate {
  Seconds step_time{};
  MemoryReport memory;                   ///< of the fullest device
};

/// T = max over pipelines of sum_i t_i / v + (m - 1/v) max_i t_i, v chunks a stage, t_i forward and backward of stage i and its exposed transfers, plus the
/// data-parallel exchange that no backward pass hides, plus the optimizer. The same kernel and collective times as the simulation,
/// without contention. Memory: states, kept activations times micro-batches in flight, transients.
/// Source: Narayanan et al., arXiv 2104.04473 §2.2 (pipeline). The Plan must have passed Plan::check.
[[nodiscard]] StepEstimate estimate_step(const Plan& plan, const Cluster& cluster, const Workload& workload, const Router& router);

/// The fullest device of each stage, pipeline by pipeline; the same sizes as estimate_step.
struct StageMemory {
  int pipeline = 0, stage = 0;
  MemoryReport memory;
};
[[nodiscard]] std::vector<StageMemory> memory_by_stage(const Plan& plan, const Cluster& cluster, const Workload& workload,
                                                       const Router& router);

}  // namespace trainyard
