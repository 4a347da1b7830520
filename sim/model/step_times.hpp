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
/// its instance in the first, later by period_of(), if in the last two periods as many tasks started as a period has: no device runs ahead
/// of another any further. Tasks that hold nothing (joins) may start early and do not count.
class StopAtRepeat final : public Controller {
 public:
  explicit StopAtRepeat(const TaskGraph& step);
  AfterEvents on_events(Seconds, std::span<const Event>) noexcept override { return AfterEvents::go_on; }
  AfterEvents on_start(TaskId task, Seconds now) noexcept override;
  /// Steps that have started.
  [[nodiscard]] std::size_t steps() const { return step_starts_.size(); }

 private:
  [[nodiscard]] bool second_is_like_first() const;
  [[nodiscard]] bool keeps_pace() const;

  const TaskGraph& step_;
  std::size_t counted_ = 0, started_ = 0;  ///< tasks that count in a step; that have started in all
  std::vector<Seconds> step_starts_;     ///< [step]
  std::vector<std::size_t> started_before_;  ///< [step] tasks that had started by then
  std::vector<Seconds> first_, second_;  ///< [task] starts in the first two steps; negative: not yet
};

}  // namespace trainyard
