#include "sim/model/step_times.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr double kRepeatTolerance = 1e-9;
constexpr int kLongestPeriod = 7;
constexpr Seconds kNotYet{-1};

bool equal(Seconds a, Seconds b, Seconds scale) { return std::abs(a.value - b.value) <= kRepeatTolerance * scale.value; }

}  // namespace

std::optional<int> period_of(std::span<const Seconds> starts) {
  const int last = int(starts.size()) - 1;
  const auto distance = [&](int to) { return starts[std::size_t(to)] - starts[std::size_t(to) - 1]; };
  for (int period = 1; period <= kLongestPeriod && last - 2 * period >= 1; ++period) {
    bool repeats = true;
    for (int i = 0; i < period && repeats; ++i) repeats = equal(distance(last - i), distance(last - i - period), distance(last - i - period));
    if (repeats) return period;
  }
  return std::nullopt;
}

StopAtRepeat::StopAtRepeat(const TaskGraph& step)
    : step_(step), counted_(std::size_t(std::ranges::count_if(step.tasks, [](const Task& task) { return !task.slots.empty(); }))) {}

AfterEvents StopAtRepeat::on_start(TaskId task, Seconds now) noexcept {
  const std::size_t tasks = step_.tasks.size(), step = index(task) / tasks, own = index(task) % tasks;
  if (step_.tasks[own].slots.empty()) return AfterEvents::go_on;
  if (step < 2) {
    std::vector<Seconds>& starts = step == 0 ? first_ : second_;
    starts.resize(tasks, kNotYet);
    starts[own] = now;
  }
  ++started_;
  if (step < step_starts_.size()) return AfterEvents::go_on;
  step_starts_.push_back(now);
  started_before_.push_back(started_ - 1);
  const bool repeats = step == 2 ? second_is_like_first() : keeps_pace();
  return repeats ? AfterEvents::stop : AfterEvents::go_on;
}

bool StopAtRepeat::second_is_like_first() const {
  const Seconds period = step_starts_[1] - step_starts_[0];
  if (!equal(step_starts_[2] - step_starts_[1], period, period)) return false;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    if (step_.tasks[i].slots.empty()) continue;
    if (first_[i] < Seconds(0) || second_[i] < Seconds(0) || !equal(second_[i] - period, first_[i], period)) return false;
  }
  return true;
}

bool StopAtRepeat::keeps_pace() const {
  const std::optional<int> period = period_of(step_starts_);
  if (!period) return false;
  const std::size_t last = started_before_.size() - 1, steps = std::size_t(*period);
  const auto in_period = [&](std::size_t end) { return started_before_[end] - started_before_[end - steps]; };
  return in_period(last) == counted_ * steps && in_period(last - steps) == counted_ * steps;
}

}  // namespace trainyard
