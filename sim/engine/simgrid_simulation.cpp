// The instants of a run: what ended, what happened, what starts.
#include "sim/engine/simgrid_simulation.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;

constexpr Seconds kNever{std::numeric_limits<double>::quiet_NaN()};
/// A flow over a dead link would end at some 1e20 s; nothing else is simulated for so long.
constexpr double kEndOfTime = 1e12;

}  // namespace

SimGridSimulation::SimGridSimulation(const TaskGraph& graph, int steps, const EventTrace& events, Controller& controller)
    : graph_(graph),
      events_(events),
      controller_(controller),
      interference_(graph),
      platform_(graph, events, interference_.slowed_paths()),
      activities_(graph.tasks.size() * static_cast<std::size_t>(steps)),
      queue_(graph, steps),
      has_kernels_(graph.processors.size(), 0),
      shared_(graph.processors.size(), 0),
      phase_(queue_.tasks(), 0),
      open_parts_(queue_.tasks(), 0),
      batch_(queue_.ties_matter() || !events.empty()) {
  timeline_.start.assign(queue_.tasks(), kNever);
  timeline_.end.assign(queue_.tasks(), kNever);
  for (const Event& event : events) {
    const auto* change = std::get_if<CapacityChanged>(&event.what);
    if (change != nullptr && change->capacity.value == 0) dead_since_.assign(graph.channels.size(), kNever.value);
  }
  find_demands();
  find_shared_processors();
}

Timeline SimGridSimulation::run() {
  sg::Activity::on_completion_cb([this](const sg::Activity& activity) { guarded([&] { completed(activity); }); });
  set_timers();
  guarded([&] { drain(); });
  dead_since_.empty() ? platform_.engine().run() : platform_.engine().run_until(kEndOfTime);
  if (failure_) std::rethrow_exception(failure_);
  if (!timeline_.stopped_early && !queue_.all_done()) {
    find_stalls();
    const std::string why = queue_.stuck();
    require(why.empty(), why);
    timeline_.halt = queue_.halt();
  }
  for (std::size_t i = 0; i < queue_.tasks(); ++i) timeline_.status.push_back(queue_.status(static_cast<int>(i)));
  return std::move(timeline_);
}

void SimGridSimulation::set_timers() {
  for (int i = 0; i < static_cast<int>(queue_.tasks()); ++i)
    if (task_of(i).release.value > 0)
      at(task_of(i).release.value, [this, i] {
        queue_.release(i, now());
        wake();
      });
  for (std::size_t i = 0; i < events_.size(); ++i)
    if (events_[i].at.value > 0 && (i == 0 || events_[i - 1].at != events_[i].at))
      at(events_[i].at.value, [this] { wake(); });
}

void SimGridSimulation::completed(const sg::Activity& activity) {
  auto* entry = activity.get_data<ActivityPool::Entry>();
  if (entry == nullptr) return drain();  // the signal of wake()
  if (!entry->live) return;
  require(activity.get_state() == sg::Activity::State::FINISHED, "an activity failed that was not given up");
  entry->live = false;
  slow_flows(*entry, false);
  activities_.free_retired(now());
  part_ended(entry->task);
}

/// Sees to it that drain() runs in this instant: at once if order cannot matter, else after SimGrid has told all that ended.
/// What ended is told after timers have run; a timer therefore has to ask for an activity of no work, a callback for a timer.
void SimGridSimulation::wake() {
  if (draining_ || woken_) return;
  if (!batch_) return drain();
  woken_ = true;
  if (!in_timer_) return at(now(), [this] { drain(); });
  signal_ = sg::Exec::init();
  signal_->set_flops_amount(0)->set_host(platform_.spare_host());
  signal_->vetoable_start();
}

void SimGridSimulation::drain() {
  woken_ = false;
  if (timeline_.stopped_early) return;
  draining_ = true;
  activities_.free_retired(now());
  end_tasks();
  apply_events();
  do {
    end_tasks();
    if (!timeline_.stopped_early) start_tasks();
  } while (!ended_.empty());
  draining_ = false;
}

void SimGridSimulation::end_tasks() {
  std::sort(ended_.begin(), ended_.end());
  for (int task : ended_) {
    timeline_.end[static_cast<std::size_t>(task)] = Seconds(now());
    timeline_.makespan = Seconds(now());
    queue_.end(task, now());
  }
  ended_.clear();
}

void SimGridSimulation::start_tasks() {
  queue_.take_startable(started_);
  for (int task : started_) {
    timeline_.start[static_cast<std::size_t>(task)] = Seconds(now());
    if (controller_.on_start(id_at<TaskId>(static_cast<std::size_t>(task)), Seconds(now())) == AfterEvents::stop) return stop();
    enter_phase(task);
  }
}

}  // namespace trainyard
