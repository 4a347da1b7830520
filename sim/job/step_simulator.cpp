#include "sim/job/step_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/lowering/step_report.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Steps that are unrolled until the last two are equal; what does not repeat within the last number is given as a mean.
constexpr std::array kUnrolledSteps{2, 4, 8, 16};
constexpr int kMeanOverSteps = 8;
/// Tasks that are simulated at most in search of a period; a larger graph is given as the mean of what was simulated.
constexpr std::size_t kMostTasks = 400'000;

/// A Plan on its way to a report.
struct Attempt {
  Lowered lowered;
  std::string failure;                   ///< "": still going or done
  std::optional<SimulatedStep> done;
};

/// Whether unrolling further is beyond the last number or the bound on tasks.
bool is_last_try(int steps, std::size_t step_tasks) {
  return steps == kUnrolledSteps.back() || 2 * std::size_t(steps) * step_tasks > kMostTasks;
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
  std::vector<Attempt> attempts(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    attempts[i].failure = joined(plans[i].check(cluster_, workload_));
    if (attempts[i].failure.empty()) attempts[i].lowered = lower(plans[i], workload_, cluster_, router_, options_);
  }
  for (const int steps : kUnrolledSteps) {
    std::vector<SimulationRequest> requests;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      if (attempts[i].done || !attempts[i].failure.empty()) continue;
      requests.push_back({unroll(attempts[i].lowered.graph, steps), {}, false});
      who.push_back(i);
    }
    if (requests.empty()) break;
    std::vector<SimulationResult> results = nursery_.run(requests, jobs_);
    for (std::size_t r = 0; r < results.size(); ++r) {
      Attempt& attempt = attempts[who[r]];
      if (const auto* failure = std::get_if<WorkerFailure>(&results[r])) {
        attempt.failure = failure_text(*failure);
        continue;
      }
      Timeline& timeline = std::get<Timeline>(results[r]);
      const StepTimes times = step_times(attempt.lowered.graph, timeline);
      const std::optional<StepWindow> period = times.period();
      if (!period && !is_last_try(steps, attempt.lowered.graph.tasks.size())) continue;
      const int mean_over = std::min(kMeanOverSteps, steps - 1);
      StepReport report = report_step(attempt.lowered, requests[r].graph, timeline, period ? *period : times.last(mean_over),
                                      workload_, cluster_);
      if (!period)
        report.extrapolated.push_back(fmt::format("the step does not repeat within {} steps: mean of the last {}", steps, mean_over));
      attempt.done = SimulatedStep{std::move(report), std::nullopt};
      if (keep_trace) attempt.done->trace = StepTrace{std::move(requests[r].graph), std::move(timeline)};
    }
  }
  std::vector<SimulatedStep> steps;
  for (Attempt& attempt : attempts)
    steps.push_back(attempt.done ? std::move(*attempt.done) : SimulatedStep{SimulationError{attempt.failure}, std::nullopt});
  return steps;
}

}  // namespace trainyard
