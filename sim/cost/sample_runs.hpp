// Which samples of a step's batch each micro-batch has.
#pragma once

#include <vector>

#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// [micro-batch]: samples of one pipeline. Those that it lists (`samples`) are cut, in their order, into runs of which
/// the largest has as few tokens as can be; else the batch is dealt out in its order, equally many to each.
[[nodiscard]] std::vector<std::vector<int>> sample_runs(const Part& part, int pipeline, const Data& data);

/// What comes to one of `ranks` data ranks: `shares`, where given, samples each; else equally many.
[[nodiscard]] std::vector<int> samples_of_rank(const std::vector<int>& micro_batch, const std::vector<int>& shares,
                                               int rank, int ranks);

}  // namespace trainyard
