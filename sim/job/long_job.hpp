// A job over hours to months: a strategy and a recovery in a market.
#pragma once

#include <memory>

#include "sim/job/case.hpp"
#include "sim/job/planned_world.hpp"
#include "sim/model/job_report.hpp"
#include "sim/model/long_run.hpp"
#include "sim/model/market.hpp"
#include "sim/planning/recovery_registry.hpp"

namespace trainyard {

/// The one that is chosen, else restart_from_checkpoint where the market has a store, else none.
[[nodiscard]] std::string name_of(const RecoveryChoice& choice, const Market& market);
/// UserError for a name that is not there; options have been checked.
[[nodiscard]] std::unique_ptr<Recovery> make_recovery(const RecoveryChoice& choice, const Market& market);

/// Plans, simulates and runs a case that has a LongCase; fills everything of `result` but its names and wall times. Exceptions as of
/// what it calls.
void run_long_case(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, JobMemory& memory, CaseResult& result);

struct LongJob {
  JobReport report;
  std::optional<JobTrace> trace;         ///< where the setting keeps traces
};

/// The job from its first Plan to its end; `held`: its nodes as they are had and paid. UserError where `tokens` are not trained within 30 years.
[[nodiscard]] LongJob run_long(const LongRun& run, const WorldSetting& setting, const Cluster& held, PlannedWorld& world);

}  // namespace trainyard
