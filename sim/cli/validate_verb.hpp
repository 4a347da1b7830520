// `trainyard validate`.
#pragma once

#include "sim/cli/arguments.hpp"
#include "sim/engine/workers.hpp"

namespace trainyard {

/// Predictions beside measurements; with --convert, published tables to our own form. Returns the exit status.
[[nodiscard]] int validate(const Arguments& arguments, const WorkerNursery& nursery);

}  // namespace trainyard
