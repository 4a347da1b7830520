// What a job over a horizon did, moment by moment: kept only where a trace is asked for.
#pragma once

#include <string>
#include <vector>

#include "sim/units/quantity.hpp"

namespace trainyard {

/// What the job as a whole was busy with. `steps`: that last; `lost`: that were done in vain.
enum class JobActivity { steps, lost, saving, changing, waiting, idle };

/// A stretch of one activity; stretches follow each other without gaps from 0 to the end.
struct JobStretch {
  Seconds from{}, until{};
  JobActivity what = JobActivity::idle;
  double steps = 0;                      ///< that were done in it, for `steps` and `lost`
};

/// Training state that one node fetched at a change of Plan. Sources and targets are names of devices and hosts, or "store".
struct StateFetch {
  Seconds from{}, until{};
  std::string source, target;
  int node = 0;                          ///< of the target
  int first_layer = 0, last_layer = 0;
  Bytes bytes{};
};

/// A node that was had: paid from `acquired`, at work from `ready` (which may lie past `until`), its loss announced at `noticed`.
struct HeldNode {
  int node = 0;
  std::string name;
  Seconds acquired{}, ready{}, noticed{}, until{};
  bool preempted = false, failed = false;  ///< at `until`; neither: still held when the job ended
};

struct JobTrace {
  std::vector<JobStretch> stretches;
  std::vector<StateFetch> fetches;
  std::vector<HeldNode> nodes;
};

}  // namespace trainyard
