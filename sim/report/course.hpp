// What a simulated step held and carried over time, from its tasks: what traces and pages draw.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/model/case_result.hpp"

namespace trainyard {

using HeldBytes = std::array<double, kMemoryClasses>;

/// From `at` on, until the next one.
struct HeldPoint {
  Seconds at{};
  HeldBytes bytes{};
  [[nodiscard]] double total() const;
};

/// [processor]: bytes held, by class. Bytes inside a task count from its start at their highest: never less is shown
/// than was held.
[[nodiscard]] std::vector<std::vector<HeldPoint>> held_bytes(const StepTrace& trace);

/// From `at` on, until the next one.
struct LoadPoint {
  Seconds at{};
  double bytes_per_s = 0;
};

struct LinkLoad {
  std::string name;
  BytesPerSecond capacity{};
  std::string device;             ///< of a link that one kind of traffic has to itself: where that starts; else ""
  std::vector<LoadPoint> course;  ///< ends with 0
};

/// Every link that tasks moved bytes over: the graph's channels, then paths that share none, named after what uses
/// them. A task's bytes are spread evenly over the time from its start to its end. Traffic inside merged tasks is not
/// among it.
[[nodiscard]] std::vector<LinkLoad> link_loads(const StepTrace& trace);

/// Over [from, to]: mean load as a share of the capacity, and the share of the time with any load.
struct LinkUse {
  double load = 0, busy = 0;
};
[[nodiscard]] LinkUse use_of(const LinkLoad& link, Seconds from, Seconds to);

}  // namespace trainyard
