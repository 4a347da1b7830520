// Several jobs on one cluster at the same time: each on devices of its own, meeting on the links that they share.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "sim/engine/workers.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/model/case_result.hpp"
#include "sim/model/cluster_share.hpp"
#include "sim/planning/strategy.hpp"

namespace trainyard {

/// A job with its Plan on its own share of the cluster.
struct RunningJob {
  const Plan* plan = nullptr;
  const ClusterShare* share = nullptr;
  const Workload* workload = nullptr;
  Seconds alone{};                       ///< its step with nobody beside it
};

struct Together {
  std::vector<StepReport> reports;       ///< [job]
  StepTrace trace;                       ///< all steps of all jobs
};

/// What the jobs do together, or why they cannot. Jobs never wait for each other: all start together and run for 16 steps of the slowest
/// (8 or 4 where that is beyond 400,000 tasks). A job's step is the mean over its steps that lie in the time in which all run,
/// after the first of each and after everything that happens to the cluster; its report says so.
using SharedOutcome = std::variant<Together, SimulationError>;
[[nodiscard]] SharedOutcome simulate_together(std::span<const RunningJob> jobs, const LoweringOptions& options, const WorkerNursery& nursery);

}  // namespace trainyard
