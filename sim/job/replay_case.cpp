#include "sim/job/replay_case.hpp"

#include <algorithm>
#include <chrono>

#include "sim/cost/price.hpp"
#include "sim/lowering/replay.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

/// Means over the simulated ranks.
void fill_step(const Case& which, const ReplayedTrace& lowered, const TaskGraph& graph, const Timeline& timeline,
               const ReplayReport& replay, StepReport& step) {
  step.step_time = step.first_step_time = timeline.makespan;
  Seconds idle{}, exposed{};
  for (const ReplayRank& rank : replay.ranks) idle += rank.idle, exposed += rank.exposed;
  const double ranks = double(replay.ranks.size());
  step.time.bubble = idle / ranks;
  step.time.other = timeline.makespan - step.time.bubble;
  step.bubble_fraction = timeline.makespan > Seconds(0) ? idle / ranks / timeline.makespan : 0;
  step.exposed_communication_fraction = timeline.makespan > Seconds(0) ? exposed / ranks / timeline.makespan : 0;
  step.flops_known = false;
  step.gpus = std::int64_t(lowered.devices.size());
  step.simulated_tasks = std::int64_t(graph.tasks.size());
  step.device_classes = std::int64_t(graph.processors.size());
  const Price price = price_of(*which.cluster, lowered.devices);
  step.price = price.rate;
  step.price_known = price.known;
}

}  // namespace

void run_replay(const Case& which, const CaseOptions& options, const WorkerNursery& nursery, CaseResult& result) {
  const auto begin = std::chrono::steady_clock::now();
  const Router router(*which.cluster);
  ReplayedTrace lowered = replay(*which.replay, *which.cluster, router);
  std::vector<SimulationRequest> requests;
  requests.push_back({std::move(lowered.graph), {}, false, 1, false});
  const SimulationResult outcome = std::move(nursery.run(requests, 1).front());
  lowered.graph = std::move(requests.front().graph);
  if (const auto* failure = std::get_if<WorkerFailure>(&outcome)) {
    result.status = CaseStatus::error;
    result.reason = failure->last_words.empty() ? failure->why : failure->why + ": " + failure->last_words;
    return;
  }
  const Timeline& timeline = std::get<Timeline>(outcome);
  result.replay = replay_report(*which.replay, lowered, timeline, *which.cluster);
  result.remarks = lowered.remarks;
  fill_step(which, lowered, lowered.graph, timeline, *result.replay, result.step);
  if (options.against != nullptr)
    result.replay->against = compare_replay(*which.replay, lowered, timeline, *options.against, options.against_name);
  if (options.keep_trace) result.trace = StepTrace{std::move(lowered.graph), timeline};
  result.simulation_wall = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace trainyard
