// What the ranks of a recorded run did: the one form of every execution trace, whatever program wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/data_type.hpp"
#include "sim/model/operator_class.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// `none`: a node without cost (metadata, a parent of others, a view); `lag`: time that passes and occupies nothing.
enum class TraceWork : std::uint8_t { none, compute, memory, host, lag, exchange, send, receive };

enum class ExchangeKind : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  gather,
  scatter,
  broadcast,
  all_to_all,
  reduce_scatter,
  barrier
};
[[nodiscard]] const char* name(ExchangeKind kind);

/// One node of one rank's file.
struct TraceNode {
  std::uint64_t id = 0;   ///< as the file has it
  std::int32_t name = 0;  ///< index of ExecutionTrace::names
  TraceWork work = TraceWork::none;
  ExchangeKind exchange = ExchangeKind::all_reduce;
  TaskKind label = TaskKind::other;  ///< where the file says what it is for
  bool product = false;              ///< computes at the rate of products, not of memory
  std::int32_t stream = 0;           ///< of the device, as recorded; operations of one stream follow each other
  std::int32_t group = 0;            ///< exchange: index of ExecutionTrace::groups
  std::int32_t peer = 0, tag = 0;    ///< send: receiver; receive: sender
  std::int32_t shape = -1;           ///< index of RankTrace::shapes; -1: none
  Seconds time{-1};                  ///< recorded; below 0: not known
  Seconds begin{-1};                 ///< recorded, since the trace begins; below 0: not known
  double flops = 0;                  ///< 0: not known
  /// Of a send, a receive, an exchange: what collective_cost() takes (below 0: not known, its recorded time is kept);
  /// else memory traffic, 0: not known.
  double bytes = 0;
};

/// Ranks that exchange data. Without members: blocks of `size` ranks `stride` apart (0: all ranks), which tile all of
/// them.
struct TraceGroup {
  std::string name;          ///< as the file has it: communicators of equal members stay apart
  std::vector<int> members;  ///< in the order of the communicator
  int size = 0, stride = 1;
  friend bool operator==(const TraceGroup&, const TraceGroup&) = default;
};

/// The file of one rank.
struct RankTrace {
  std::string file;
  int rank = -1;                           ///< as the file or its name says; -1: neither does
  std::vector<TraceNode> nodes;            ///< each after everything that it depends on
  std::vector<std::pair<int, int>> edges;  ///< from, to: positions of `nodes`
  std::vector<GemmShape> shapes;
};

struct ExecutionTrace {
  std::vector<std::string> names;
  std::vector<TraceGroup> groups;
  std::vector<RankTrace> files;
  std::vector<int> file_of_rank;     ///< [rank]: several ranks may run the nodes of one file
  std::string device;                ///< type of GPU that was measured, as the trace names it; "": not known
  std::vector<std::string> remarks;  ///< what had to be assumed or left out, with counts
};

/// Where the times of computing come from.
enum class ReplayTimes { recorded, scaled, model };

/// A trace with how it is to be replayed.
struct TraceReplay {
  ExecutionTrace trace;
  std::string source;  ///< as the scenario names it
  ReplayTimes times = ReplayTimes::recorded;
  std::string recorded_on;              ///< scaled: catalogue key of the GPU that was measured
  DeviceType recorded_type;             ///< the same, whole
  DataType precision = DataType::bf16;  ///< scaled, model: of the products
};

}  // namespace trainyard
