// `sweep` and `merge`.
#pragma once

#include "sim/cli/arguments.hpp"
#include "sim/engine/workers.hpp"

namespace trainyard {

/// Simulates the points of the grid that its store lacks, several at a time, and prints all that are there. Returns the
/// exit status: 4 if a case ended in an error, else 0, whether its Plans fit or not: where they stop to fit is a
/// result.
[[nodiscard]] int sweep(const Arguments& arguments, const WorkerNursery& nursery);

/// Prints the results of several stores of one sweep as one. UserError if they are of different sweeps, contradict each
/// other or leave points out.
[[nodiscard]] int merge_sweeps(const Arguments& arguments);

}  // namespace trainyard
