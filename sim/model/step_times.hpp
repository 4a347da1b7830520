// When a step that is simulated over and over repeats itself.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/model/controller.hpp"
#include "sim/model/task_graph.hpp"

namespace trainyard {

/// Number of steps, at most 7, after which the starts of steps repeat: the last so many distances between neighbours equal those
/// before them to 1e-9, the distance from the first start not counted (before it there is no step). Nothing if none does.
[[nodiscard]] std::optional<int> period_of(std::span<const Seconds> starts);

/// Stops at the start of the first step that shows a period: after two steps when every task of the second has started just as
/// its instance in the first, later by period_of(). Tasks that hold nothing (joins) may start early and do not count.
class StopAtRepeat final : public Controller {
 public:
  explicit StopAtRepeat(const TaskGraph& step) : step_(step) {}
  AfterEvents on_events(Seconds, std::span<const Event>) noexcept override { return AfterEvents::go_on; }
  AfterEvents on_start(TaskId task, Seconds now) noexcept override;
  /// Steps that have started.
  [[nodiscard]] std::size_t steps() const { return step_starts_.size(); }

 private:
  [[nodiscard]] bool second_is_like_first() const;

  const TaskGraph& step_;
  std::vector<Seconds> step_starts_;     ///< [step]
  std::vector<Seconds> first_, second_;  ///< [task] starts in the first two steps; negative: not yet
};

}  // namespace trainyard
