// When each task of a graph ran.
#pragma once

#include <string>
#include <vector>

#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

enum class TaskStatus { never_started, done, lost };

struct Timeline {
  std::vector<Seconds> start, end;       ///< [task]; NaN where it never started or did not end
  std::vector<TaskStatus> status;        ///< [task]
  Seconds makespan{};                    ///< end of the last task
  bool stopped_early = false;            ///< the controller stopped it
  std::string halt;                      ///< events left tasks that cannot go on: who waits for whom, on what; else ""
  friend bool operator==(const Timeline&, const Timeline&) = default;
};

}  // namespace trainyard
