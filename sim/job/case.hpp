// One case: one strategy on one variant of a scenario, planned and simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/engine/workers.hpp"
#include "sim/model/case_result.hpp"
#include "sim/model/cluster_share.hpp"
#include "sim/model/jitter.hpp"
#include "sim/model/long_run.hpp"
#include "sim/model/market.hpp"
#include "sim/model/workload.hpp"
#include "sim/planning/recovery_registry.hpp"

namespace trainyard {

struct ExecutionTrace;
struct TraceReplay;

/// What a case needs beside a cluster and a workload to run for hours to months.
struct LongCase {
  LongRun run;
  const Market* market = nullptr;
  RecoveryChoice recovery;
  std::shared_ptr<const Cluster> held{}; ///< the case's nodes as they are had and paid, where that is not as `cluster` says
};

struct Case {
  std::string scenario, variant, strategy;
  const Cluster* cluster = nullptr;
  const Workload* workload = nullptr;
  const ConfigValue* options = nullptr;  ///< of the strategy; null: none given
  std::string directory;                 ///< of the scenario file
  std::uint64_t seed = 1;
  Jitter jitter{};                       ///< of every step that is simulated, the planner's too
  std::string job{};                     ///< its name, if it is one of `beside`
  const ClusterShare* share = nullptr;   ///< with others beside, and of these: what `cluster` is of the whole
  std::vector<Case> beside{};            ///< jobs that train at the same time on devices of their own
  std::shared_ptr<const LongCase> long_case{};  ///< null: one step
  const TraceReplay* replay = nullptr;   ///< instead of a strategy: what is run, on `cluster`
};

struct CaseOptions {
  int jobs = 1;                          ///< simulations of one case at a time
  bool symmetry = true;                  ///< false: simulate every device
  bool full_detail = false;              ///< every operator a task of its own
  bool alone_communication = false;      ///< communication in closed form, for ablations
  bool keep_trace = false;               ///< fill CaseResult::trace
  const ExecutionTrace* against = nullptr;  ///< of a replay: the recorded timeline that it is compared with
  std::string against_name{};            ///< the same, as the user named it
  bool sensitivity = false;              ///< fill CaseResult::sensitivity: several more simulations, and one more search
};

struct JobMemory;

/// Whether two cases differ in nothing but their recovery, so that Plans and steps of one serve the other.
[[nodiscard]] bool share_memory(const Case& a, const Case& b);

/// Plans and simulates. What goes wrong inside becomes status infeasible or error, never an exception; a mistake of the user
/// (options, a Plan that does not fit the cluster) is status error with `user_error` set. `memory`: of cases that share_memory with it; the
/// answer is the same without.
[[nodiscard]] CaseResult run_case(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, JobMemory* memory = nullptr);

/// Each case in a process of its own, `jobs` at a time, but those over a horizon that share their memory in one as long as there are
/// processes enough; results in the order of `cases`. A case whose process dies is `status: error` with its last words (one that shared it
/// gets another of its own first). `progress` is called after each case, in order of completion.
[[nodiscard]] std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const CaseOptions& options, int jobs,
                                                const WorkerNursery& nursery,
                                                const std::function<void(std::size_t done, std::size_t all)>& progress);

}  // namespace trainyard
