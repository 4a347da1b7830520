#include "sim/job/step_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/price.hpp"
#include "sim/lowering/step_report.hpp"
#include "sim/model/step_times.hpp"
#include "sim/units/error.hpp"
#include "sim/units/text.hpp"

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

/// A period that comes after everything that happens to the cluster.
std::optional<int> settled_period(const StepTimes& times, const EventTrace& events) {
  const std::optional<int> period = period_of(times.start);
  if (!period || events.empty()) return period;
  const std::size_t n = times.start.size(), compared = std::size_t(2 * *period);
  return compared < n && events.back().at <= times.start[n - 1 - compared] ? period : std::nullopt;
}

/// How many of the last steps a report is about: the period that was found, else a mean over several.
struct Reported {
  int steps = 1;
  bool repeats = true;
};

Reported reported_steps(const StepTimes& times, const Timeline& timeline, const EventTrace& events) {
  const std::optional<int> period = settled_period(times, events);
  if (timeline.stopped_early || period) return {period.value_or(1), true};
  return {std::min(kMeanOverSteps, int(times.start.size()) - 1), false};
}

/// What changed in the simulated steps; those before the last one that is reported.
void note_changes(const StepTimes& times, const EventTrace& events, StepReport& report) {
  if (events.empty()) return;
  std::vector<std::string> steps;
  for (std::size_t i = 0; i + 1 < times.start.size() && times.start[i] <= events.back().at; ++i)
    steps.push_back(to_text(times.start[i + 1] - times.start[i]));
  report.extrapolated.push_back(fmt::format("the cluster changes until {}; steps before and while it does took {}; the step shown is the one after",
                                            to_text(events.back().at), fmt::join(steps, ", ")));
}

/// "" or why the simulated steps say nothing about the events.
std::string ends_badly(const Timeline& timeline, const StepTimes& times, const EventTrace& events) {
  if (!timeline.halt.empty()) return timeline.halt;
  if (events.empty() || events.back().at <= times.start.back()) return "";
  return fmt::format("the change at {} comes after the {} steps that are simulated, the last of which starts at {}",
                     to_text(events.back().at), times.start.size(), to_text(times.start.back()));
}

std::string joined(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "; ")); }

std::string failure_text(const WorkerFailure& failure) {
  return failure.last_words.empty() ? failure.why : failure.why + ": " + failure.last_words;
}

}  // namespace

StepSimulator::StepSimulator(const Cluster& cluster, const Workload& workload, const LoweringOptions& options,
                             const WorkerNursery& nursery, int jobs, StepMemory* memory)
    : cluster_(cluster), workload_(workload), options_(options), nursery_(nursery), jobs_(jobs), memory_(memory), router_(cluster) {}

/// The same step on other nodes may have another price.
const SimulationOutcome* StepSimulator::remembered(const Lowered& lowered, std::uint64_t graph, SimulatedStep& step) const {
  const SimulationOutcome* known = memory_ != nullptr && lowered.events.empty() ? memory_->find(graph) : nullptr;
  if (known == nullptr) return nullptr;
  step.outcome = *known;
  if (auto* report = std::get_if<StepReport>(&step.outcome)) {
    const Price price = price_of(cluster_, lowered.used);
    report->price = price.rate;
    report->price_known = price.known;
  }
  return known;
}

std::vector<SimulationOutcome> StepSimulator::simulate(std::span<const Plan> plans) {
  std::vector<SimulationOutcome> outcomes;
  for (SimulatedStep& step : run(plans, Look::report)) outcomes.push_back(std::move(step.outcome));
  return outcomes;
}

SimulatedStep StepSimulator::look_closely_at(const Plan& plan, bool keep_trace) {
  return std::move(run(std::span(&plan, 1), keep_trace ? Look::with_trace : Look::closely).front());
}

std::vector<SimulatedStep> StepSimulator::run(std::span<const Plan> plans, Look look) {
  std::vector<SimulatedStep> steps(plans.size());
  std::vector<Lowered> lowered;
  std::vector<SimulationRequest> requests;
  std::vector<std::size_t> who;
  std::vector<std::uint64_t> keys;       // of what is simulated
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (const std::string wrong = joined(plans[i].check(cluster_, workload_)); !wrong.empty()) {
      steps[i].outcome = SimulationError{wrong};
      continue;
    }
    lowered.push_back(lower(plans[i], workload_, cluster_, router_, options_));
    const std::uint64_t key = memory_ != nullptr ? hash(lowered.back().graph) : 0;
    if (look == Look::report && remembered(lowered.back(), key, steps[i]) != nullptr) {
      lowered.pop_back();
      continue;
    }
    keys.push_back(key);
    TaskGraph graph = lowered.back().graph;
    const int most = most_steps(graph);
    const EventTrace& events = lowered.back().events;
    requests.push_back({std::move(graph), events, false, most, events.empty()});  // what happens late must happen, too
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
    if (memory_ != nullptr && lowered[r].events.empty()) memory_->keep(keys[r], step.outcome);
    if (look != Look::report && std::holds_alternative<StepReport>(step.outcome)) step.critical_path = path(lowered[r], timeline);
    if (look == Look::with_trace) step.trace = trace(lowered[r], timeline);
  }
  return steps;
}

SimulationOutcome StepSimulator::report(const Lowered& lowered, const Timeline& timeline) const {
  const StepTimes times = step_times(lowered.graph, timeline);
  if (const std::string why = ends_badly(timeline, times, lowered.events); !why.empty()) return SimulationError{why};
  const Reported reported = reported_steps(times, timeline, lowered.events);
  StepReport report = report_step(lowered, timeline, times.last(reported.steps), workload_, cluster_);
  note_changes(times, lowered.events, report);
  if (!reported.repeats)
    report.extrapolated.push_back(fmt::format("the step does not repeat within {} steps: mean of the last {}", times.start.size(), reported.steps));
  return report;
}

std::vector<PathPart> StepSimulator::path(const Lowered& lowered, const Timeline& timeline) {
  const StepTimes times = step_times(lowered.graph, timeline);
  const StepWindow window = times.last(reported_steps(times, timeline, lowered.events).steps);
  return critical_path(lowered.graph, timeline, window.from, window.to, window.steps);
}

/// The steps that were looked at, each to its end.
std::optional<StepTrace> StepSimulator::trace(const Lowered& lowered, const Timeline& timeline) const {
  const TaskGraph& step = lowered.graph;
  const int steps = int(timeline.start.size() / step.tasks.size()) - (timeline.stopped_early ? 1 : 0);
  SimulationResult whole = std::move(nursery_.run({{step, lowered.events, false, steps, false}}, 1).front());
  if (std::holds_alternative<WorkerFailure>(whole)) return std::nullopt;
  return StepTrace{unroll(step, steps), std::move(std::get<Timeline>(whole))};
}

}  // namespace trainyard
