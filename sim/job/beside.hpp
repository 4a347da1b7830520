// A case's step again, with the scenario's other jobs beside it.
#pragma once

#include "sim/engine/workers.hpp"
#include "sim/job/case.hpp"
#include "sim/model/plan.hpp"

namespace trainyard {

/// Plans the jobs of `which.beside`, each alone on its own nodes, then simulates all together: result.step becomes the step beside
/// them, alone_step_time what it was, and `jobs` theirs. A job that no Plan fits is status infeasible, one whose simulation fails
/// status error, both with the job's name. Throws UserError for options that its strategy refuses.
void simulate_beside(const Case& which, const Plan& plan, const CaseOptions& options, const WorkerNursery& nursery, CaseResult& result);

}  // namespace trainyard
