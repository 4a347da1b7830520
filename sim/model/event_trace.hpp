// What happens to the resources while a graph runs.
#pragma once

#include <variant>
#include <vector>

#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// The processor is gone from now on: what runs on it, or over a path of a task that holds a slot on it, is lost.
struct ProcessorLost { ProcessorId processor{}; friend bool operator==(const ProcessorLost&, const ProcessorLost&) = default; };
/// Flows over a channel of no capacity wait until it has some again.
struct CapacityChanged { ChannelId channel{}; BytesPerSecond capacity{}; friend bool operator==(const CapacityChanged&, const CapacityChanged&) = default; };

struct Event {
  Seconds at{};
  std::variant<ProcessorLost, CapacityChanged> what;
  friend bool operator==(const Event&, const Event&) = default;
};
/// In order of time; events of one instant are applied together.
using EventTrace = std::vector<Event>;

}  // namespace trainyard
