// Who meets whom in a replay: exchanges of a group by their order in it, sends and receives by sender, receiver and
// tag.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/model/execution_trace.hpp"

namespace trainyard {

/// A node of a rank that is simulated.
struct ReplayPlace {
  int rank = 0;
  int node = 0;  ///< of the rank's file
};

/// The members of one group that exist, with what each exchanges there, in order.
struct ReplayGroup {
  int group = 0;                        ///< of ExecutionTrace::groups
  std::vector<int> members;             ///< ranks
  std::vector<std::vector<int>> nodes;  ///< [member] nodes of its file
};

/// What is sent over one way, and received.
struct ReplayWay {
  std::vector<ReplayPlace> sends, receives;
};

struct ReplayMeetings {
  std::vector<ReplayGroup> groups;
  std::map<std::tuple<int, int, int>, ReplayWay> ways;  ///< by sender, receiver, tag
};

/// Of all ranks, each with the nodes of its file. UserError naming file and node where members disagree in number, kind
/// or size (an all-to-all and a gather may differ in size), where sends and receives differ in number or size, or go to
/// a rank that is not there.
[[nodiscard]] ReplayMeetings meetings_of(const ExecutionTrace& trace);

/// Members of the group that rank is in. UserError where it is in none, naming the node.
[[nodiscard]] std::vector<int> members_with(const ExecutionTrace& trace, int group, int rank, const TraceNode& node);

/// "FILE: node ID of rank R (NAME)".
[[nodiscard]] std::string place_text(const ExecutionTrace& trace, const ReplayPlace& place);

}  // namespace trainyard
