// Several jobs on shares of one toy cluster, run together.
#pragma once

#include <vector>

#include "sim/engine/executor.hpp"
#include "sim/lowering/compose.hpp"
#include "sim/model/cluster_share.hpp"
#include "tests/lowering/toy.hpp"

namespace trainyard::toy {

struct Job {
  ClusterShare share;
  Workload workload;
  Plan plan;
};

/// Data-parallel over these nodes of one GPU, one sample each.
[[nodiscard]] Job job_on(const std::vector<int>& nodes, const WorkloadShape& shape, const Cluster& cluster);

struct Together {
  std::vector<Lowered> lowered;
  ComposedJobs composed;
  Timeline timeline;
  /// Mean over the job's last two steps.
  [[nodiscard]] Seconds step(std::size_t job) const;
};

/// So many steps of each; with the reference executor unless another is given.
[[nodiscard]] Together run_together(const std::vector<Job>& jobs, int steps, bool symmetry = true, Executor* executor = nullptr);

}  // namespace trainyard::toy
