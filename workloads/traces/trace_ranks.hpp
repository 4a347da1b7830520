// Which rank runs which file, and who the members of each group are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/traces/readers.hpp"

namespace trainyard {

/// What the scenario says of the ranks.
struct TraceRanks {
  int wanted = 0;                                  ///< 0: as the trace says, else one a file
  std::map<std::string, std::vector<int>> groups;  ///< by the name that files use
  bool gathered_sizes = false;                     ///< an all-gather's size is the gathered one
};

/// Files to ranks, groups to members, sizes of all-gathers to the gathered ones. UserError in one line where files
/// contradict each other or the scenario.
void settle_ranks(std::vector<TraceFile> files, const TraceRanks& ranks, ExecutionTrace& trace);

}  // namespace trainyard
