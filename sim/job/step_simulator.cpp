#include "sim/job/step_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/lowering/step_report.hpp"
#include "sim/model/step_times.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Steps that are simulated in search of a period; what does not repeat within them is given as a mean.
constexpr int kMostSteps = 16, kMeanOverSteps = 8;
/// Tasks that are simulated at most for it, beyond the four steps in which a step can begin to repeat.
constexpr std::size_t kMostTasks = 800'000;
constexpr int kLeastSteps = 4;

int most_steps(const TaskGraph& step) {
  return int(std::clamp(kMostTasks / std::max<std::size_t>(1, step.tasks.size()), std::size_t(kLeastSteps), std::size_t(kMostSteps)));
}

std::string joined(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "; ")); }

std::string failure_text(const WorkerFailure& failure) {
  return failure.last_words.empty() ? failure.why : failure.why + ": " + failure.last_words;
}

}  // namespace

StepSimulator::StepSimulator(const Cluster& cluster, const Workload& workload, const LoweringOptions& options,
                             const WorkerNursery& nursery, int jobs)
    : cluster_(cluster), workload_(workload), options_(options), nursery_(nursery), jobs_(jobs), router_(cluster) {}

std::vector<SimulationOutcome> StepSimulator::simulate(std::span<const Plan> plans) {
  std::vector<SimulationOutcome> outcomes;
  for (SimulatedStep& step : run(plans, false)) outcomes.push_back(std::move(step.outcome));
  return outcomes;
}

SimulatedStep StepSimulator::simulate_with_trace(const Plan& plan) { return std::move(run(std::span(&plan, 1), true).front()); }

std::vector<SimulatedStep> StepSimulator::run(std::span<const Plan> plans, bool keep_trace) {
  std::vector<SimulatedStep> steps(plans.size());
  std::vector<Lowered> lowered;
  std::vector<SimulationRequest> requests;
  std::vector<std::size_t> who;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (const std::string wrong = joined(plans[i].check(cluster_, workload_)); !wrong.empty()) {
      steps[i].outcome = SimulationError{wrong};
      continue;
    }
    lowered.push_back(lower(plans[i], workload_, cluster_, router_, options_));
    TaskGraph graph = lowered.back().graph;
    const int most = most_steps(graph);
    requests.push_back({std::move(graph), {}, false, most, true});
    who.push_back(i);
  }
  const std::vector<SimulationResult> results = nursery_.run(requests, jobs_);
  for (std::size_t r = 0; r < results.size(); ++r) {
    SimulatedStep& step = steps[who[r]];
    if (const auto* failure = std::get_if<WorkerFailure>(&results[r])) {
      step.outcome = SimulationError{failure_text(*failure)};
      continue;
    }
    const Timeline& timeline = std::get<Timeline>(results[r]);
    step.outcome = report(lowered[r], timeline);
    if (keep_trace) step.trace = trace(lowered[r].graph, timeline);
  }
  return steps;
}

/// Of the period that was found; else of the mean, which the report says.
StepReport StepSimulator::report(const Lowered& lowered, const Timeline& timeline) const {
  const StepTimes times = step_times(lowered.graph, timeline);
  const std::optional<int> period = period_of(times.start);
  if (timeline.stopped_early || period) return report_step(lowered, timeline, times.last(period.value_or(1)), workload_, cluster_);
  const int steps = int(times.start.size()), mean_over = std::min(kMeanOverSteps, steps - 1);
  StepReport report = report_step(lowered, timeline, times.last(mean_over), workload_, cluster_);
  report.extrapolated.push_back(fmt::format("the step does not repeat within {} steps: mean of the last {}", steps, mean_over));
  return report;
}

/// The steps that were looked at, each to its end.
std::optional<StepTrace> StepSimulator::trace(const TaskGraph& step, const Timeline& timeline) const {
  const int steps = int(timeline.start.size() / step.tasks.size()) - (timeline.stopped_early ? 1 : 0);
  SimulationResult whole = std::move(nursery_.run({{step, {}, false, steps, false}}, 1).front());
  if (std::holds_alternative<WorkerFailure>(whole)) return std::nullopt;
  return StepTrace{unroll(step, steps), std::move(std::get<Timeline>(whole))};
}

}  // namespace trainyard
