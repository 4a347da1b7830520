// The callbacks of an executor: what to do when something happened to the resources, or a task starts.
#pragma once

#include <span>

#include "sim/model/event_trace.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

enum class AfterEvents { go_on, stop };

/// Called once for all events of one instant, after they were applied. Must not throw.
class Controller {
 public:
  virtual ~Controller() = default;
  virtual AfterEvents on_events(Seconds now, std::span<const Event> events) noexcept = 0;
  /// Called as a task starts, in order of time. Must not throw.
  virtual AfterEvents on_start(TaskId, Seconds) noexcept { return AfterEvents::go_on; }
};

/// Lets the graph run on with what is left.
class RunOn final : public Controller {
 public:
  AfterEvents on_events(Seconds, std::span<const Event>) noexcept override { return AfterEvents::go_on; }
};
/// Stops at the first instant that loses a processor.
class StopAtLoss final : public Controller {
 public:
  AfterEvents on_events(Seconds now, std::span<const Event> events) noexcept override;
};

}  // namespace trainyard
