// `calibrate`: one's own measurements become the parameters of a cluster.
#pragma once

#include <string>

#include "sim/cli/arguments.hpp"
#include "sim/engine/workers.hpp"

namespace trainyard {

/// The scenario with `cluster.calibration` filled in: curves of products (--kernels), factors of links (--collectives), a factor of all
/// kernels in training (--steps, with the others applied), each with its standard error in a comment. UserError in one line for
/// measurements that do not belong to the cluster.
[[nodiscard]] std::string calibrate_text(const Arguments& arguments, const WorkerNursery& nursery);

}  // namespace trainyard
