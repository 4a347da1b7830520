#include "sim/job/shared_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/lowering/compose.hpp"
#include "sim/lowering/step_report.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Steps of the slowest job, the first that is within the bound on tasks.
constexpr std::array kWindows{16, 8, 4};
constexpr double kManyTasks = 400'000, kTooManyTasks = 2'000'000;
/// Around the window: one step to get going, one since jobs slow each other unequally.
constexpr int kMargin = 2;

/// By the whole cluster's ids.
std::vector<LinkId> links_of(const RunningJob& job, const Router& router) {
  std::vector<LinkId> links;
  for (const LinkId link : links_used(*job.plan, *job.workload, router)) links.push_back(job.share->links[index(link)]);
  return links;
}

/// Those of the whole's links that lie in the share, by its ids.
std::vector<LinkId> in_share(const ClusterShare& share, std::span<const LinkId> links) {
  std::vector<LinkId> own;
  for (const LinkId link : links)
    if (const auto found = std::ranges::lower_bound(share.links, link); found != share.links.end() && *found == link)
      own.push_back(id_at<LinkId>(std::size_t(found - share.links.begin())));
  return own;
}

std::vector<Lowered> lower_all(std::span<const RunningJob> jobs, LoweringOptions options) {
  std::vector<Router> routers;
  std::vector<std::vector<LinkId>> links;
  for (const RunningJob& job : jobs) {
    routers.emplace_back(job.share->cluster);
    links.push_back(links_of(job, routers.back()));
  }
  const std::vector<LinkId> common = links_in_common(links);
  std::vector<Lowered> lowered;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    options.apart = in_share(*jobs[j].share, common);
    lowered.push_back(lower(*jobs[j].plan, *jobs[j].workload, jobs[j].share->cluster, routers[j], options));
  }
  return lowered;
}

struct Schedule {
  std::vector<JobSteps> jobs;
  double tasks = 0;
};

Schedule schedule_of(std::span<const RunningJob> jobs, std::span<const Lowered> lowered, int window) {
  Seconds slowest{};
  for (const RunningJob& job : jobs) slowest = std::max(slowest, job.alone);
  Schedule schedule;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const double steps = std::ceil(window * (slowest / jobs[j].alone)) + kMargin;
    schedule.tasks += steps * double(lowered[j].graph.tasks.size());
    schedule.jobs.push_back({&lowered[j], jobs[j].share->links, int(std::min(steps, kTooManyTasks))});
  }
  return schedule;
}

Schedule best_schedule(std::span<const RunningJob> jobs, std::span<const Lowered> lowered) {
  Schedule schedule;
  for (const int window : kWindows) {
    schedule = schedule_of(jobs, lowered, window);
    if (schedule.tasks <= kManyTasks) break;
  }
  return schedule;
}

struct Span {
  Seconds from{}, to{};
};

/// From where every job has done a step and nothing changes any more to where the first starts its last.
Span common_time(std::span<const StepTimes> times, const EventTrace& events) {
  Span span{events.empty() ? Seconds(0) : events.back().at, times.front().start.back()};
  for (const StepTimes& job : times) {
    span.from = std::max(span.from, job.start[1]);
    span.to = std::min(span.to, job.start.back());
  }
  return span;
}

/// The whole steps of a job that lie in the time; none if it is too short.
std::optional<StepWindow> window_of(const StepTimes& times, const Span& span) {
  const auto first = std::ranges::lower_bound(times.start, span.from), end = std::ranges::upper_bound(times.start, span.to);
  if (end - first < 2) return std::nullopt;
  return StepWindow{*first, *(end - 1), int(end - first) - 1};
}

/// Timeline of all -> one report a job.
class Reporter {
 public:
  Reporter(std::span<const RunningJob> jobs, std::span<const Lowered> lowered, const ComposedJobs& composed)
      : jobs_(jobs), lowered_(lowered), composed_(composed) {}

  std::variant<std::vector<StepReport>, SimulationError> reports(const Timeline& timeline) const {
    std::vector<Timeline> parts;
    std::vector<StepTimes> times;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      parts.push_back(composed_.part_of(timeline, j));
      times.push_back(step_times(lowered_[j].graph, parts.back()));
    }
    const Span span = common_time(times, composed_.events);
    std::vector<StepReport> reports;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const std::optional<StepWindow> window = window_of(times[j], span);
      if (!window) return SimulationError{"the time in which all jobs run and nothing changes is too short for a step of each"};
      reports.push_back(report_step(lowered_[j], parts[j], *window, *jobs_[j].workload, jobs_[j].share->cluster));
      reports.back().extrapolated.push_back(note(j, window->steps, span));
    }
    return reports;
  }

 private:
  std::string note(std::size_t job, int steps, const Span& span) const {
    return fmt::format("beside {} other job{}: mean over {} step{} in {} in which all run; alone a step takes {}", jobs_.size() - 1,
                       jobs_.size() == 2 ? "" : "s", steps, steps == 1 ? "" : "s", to_text(span.to - span.from),
                       to_text(jobs_[job].alone));
  }

  std::span<const RunningJob> jobs_;
  std::span<const Lowered> lowered_;
  const ComposedJobs& composed_;
};

}  // namespace

SharedOutcome simulate_together(std::span<const RunningJob> jobs, const LoweringOptions& options, const WorkerNursery& nursery) {
  const std::vector<Lowered> lowered = lower_all(jobs, options);
  const Schedule schedule = best_schedule(jobs, lowered);
  if (schedule.tasks > kTooManyTasks)
    return SimulationError{fmt::format("the jobs' steps are too unequal: {:.0f} tasks in four steps of the slowest", schedule.tasks)};
  ComposedJobs composed = compose(schedule.jobs);
  SimulationResult result = nursery.run({{composed.graph, composed.events}}, 1).front();
  if (const auto* failure = std::get_if<WorkerFailure>(&result))
    return SimulationError{failure->last_words.empty() ? failure->why : failure->why + ": " + failure->last_words};
  Timeline& timeline = std::get<Timeline>(result);
  if (!timeline.halt.empty()) return SimulationError{timeline.halt};
  auto reports = Reporter(jobs, lowered, composed).reports(timeline);
  if (const auto* error = std::get_if<SimulationError>(&reports)) return *error;
  return Together{std::move(std::get<std::vector<StepReport>>(reports)), {std::move(composed.graph), std::move(timeline)}};
}

}  // namespace trainyard
