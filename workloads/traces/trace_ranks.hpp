// Which rank runs which file, and who the members of each group are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/traces/readers.hpp"

namespace trainyard {

/// What the scenario says of the ranks.
struct TraceRanks {
  int wanted = 0;                                  ///< 0: as the trace says, else one a file
  std::map<std::string, std::vector<int>> groups;  ///< by the name that files use
  std::optional<bool> gathered_sizes;              ///< an all-gather's size is the gathered one; absent: nobody said
  bool sizes_are_known = false;                    ///< the format itself says that they are of a rank's own part
};

/// Files to ranks, groups to members, sizes of all-gathers to the gathered ones. UserError in one line where files
/// contradict each other or the scenario.
void settle_ranks(std::vector<TraceFile> files, const TraceRanks& ranks, ExecutionTrace& trace);

}  // namespace trainyard
