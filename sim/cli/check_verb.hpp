// `trainyard check`.
#pragma once

#include "sim/cli/arguments.hpp"
#include "sim/engine/workers.hpp"

namespace trainyard {

/// Simulates baselines again and prints every figure that has drifted; with --update writes baselines of scenarios.
/// Returns the exit status.
[[nodiscard]] int check_baselines(const Arguments& arguments, const WorkerNursery& nursery);

}  // namespace trainyard
