// What to tell when events left tasks that cannot go on: a communication that cannot end, whom it waits for, and who waits for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/engine/task_queue.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Names that a message gives before it counts.
constexpr std::size_t kMostNames = 4;
/// Tasks behind a blocked one that a message tells.
constexpr std::size_t kMostWaiters = 3;

bool moves_data(const Task& task) {
  return std::any_of(task.phases.begin(), task.phases.end(), [](const TaskPhase& phase) { return !phase.flows.empty(); });
}

}  // namespace

/// "task 3 (data all-reduce) of a.0.0 and a.1.0".
std::string TaskQueue::with_members(int task) const {
  std::vector<std::string> names;
  for (const int s : streams_of(task)) {
    const std::string& name = graph_.processors[index(graph_.streams[static_cast<std::size_t>(s)].processor)].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const std::string what = describe_task(task);
  if (names.empty()) return what;
  if (names.size() > kMostNames) {
    const std::size_t more = names.size() - kMostNames;
    names.resize(kMostNames);
    return fmt::format("{} of {} and {} more", what, fmt::join(names, ", "), more);
  }
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? fmt::format("{} of {}", what, last) : fmt::format("{} of {} and {}", what, fmt::join(names, ", "), last);
}

/// A communication that others wait in, else the first task that was cut off or cannot start.
int TaskQueue::first_blocked() const {
  int first = -1;
  for (std::size_t i = 0; i < tasks(); ++i) {
    if (!dead_[i] && status_[i] != TaskStatus::lost) continue;
    if (first < 0) first = static_cast<int>(i);
    if (moves_data(graph_.tasks[in_step(static_cast<int>(i))])) return static_cast<int>(i);
  }
  return first;
}

std::string TaskQueue::reason(int task) const {
  for (const Stall& stall : stalls_)
    if (stall.task == task)
      return fmt::format("link {} is dead since {}", graph_.channels[index(stall.channel)].name, to_text(Seconds(stall.since)));
  for (const int s : streams_of(task)) {
    const ProcessorId processor = graph_.streams[static_cast<std::size_t>(s)].processor;
    const double since = lost_since_[index(processor)];
    if (!std::isnan(since)) return fmt::format("{} is gone since {}", graph_.processors[index(processor)].name, to_text(Seconds(since)));
  }
  return "it was cut off";
}

std::string TaskQueue::waiters(int task) const {
  std::string text;
  std::size_t told = 0;
  for (std::size_t i = 0; i < tasks() && told < kMostWaiters; ++i) {
    if (status_[i] != TaskStatus::never_started || dead_[i]) continue;
    const std::vector<int> before = waits_for(static_cast<int>(i));
    if (std::find(before.begin(), before.end(), task) == before.end()) continue;
    text += fmt::format("; {} waits for it", with_members(static_cast<int>(i)));
    ++told;
  }
  return text;
}

std::string TaskQueue::halt() const {
  const int task = first_blocked();
  if (all_done() || task < 0) return "";
  const auto i = static_cast<std::size_t>(task);
  return fmt::format("{} cannot {}: {}{}; {} of {} tasks did not end", with_members(task), started_[i] ? "end" : "start", reason(task),
                     waiters(task), tasks() - ended_, tasks());
}

}  // namespace trainyard
