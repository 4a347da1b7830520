// A case that replays a trace.
#pragma once

#include "sim/engine/workers.hpp"
#include "sim/job/case.hpp"

namespace trainyard {

/// Lowers the case's trace, simulates it once and fills the result. UserError as replay() throws it.
void run_replay(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, CaseResult& result);

}  // namespace trainyard
