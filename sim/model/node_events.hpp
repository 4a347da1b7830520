// Which nodes are there when, and what a job is told of it: a Market under a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/market.hpp"
#include "sim/units/ids.hpp"

namespace trainyard {

/// How a node was lost; `held`: it was not, the time that is looked at ended.
enum class SpanEnd { held, preempted, failed };

/// A node is had and paid from `acquired` until `until`, and can compute from `ready` on. `ready` may lie at or after
/// `until`: lost while it booted.
struct NodeSpan {
  NodeId node{};
  Seconds acquired{}, ready{}, noticed{}, until{};  ///< noticed: when its loss is announced; `until` if it is not
  SpanEnd end = SpanEnd::held;
  friend bool operator==(const NodeSpan&, const NodeSpan&) = default;
};

/// Everything of one instant, applied together: who is lost, then who joins; `noticed` will be lost at the span's end.
/// Ids in ascending order. A node that is replaced in an instant stands in both lists.
struct NodeInstant {
  Seconds at{};
  std::vector<NodeId> lost, ready, noticed;
  friend bool operator==(const NodeInstant&, const NodeInstant&) = default;
};

struct NodeEvents {
  Seconds end{};                      ///< the horizon, or earlier where a record ends that says `stop`
  std::vector<NodeSpan> spans;        ///< by acquired, then node; every node that was had, also those lost while booting
  std::vector<NodeInstant> instants;  ///< in order of time; only nodes that became ready; the first at 0 unless none is there
  friend bool operator==(const NodeEvents&, const NodeEvents&) = default;
};

/// What happens to the nodes of the cluster until `horizon`. Nodes that can be had at 0 are ready at 0. The same arguments give the
/// same events; a longer horizon adds to what happens before. Cost: linear in events, times the nodes of a group where victims are drawn.
[[nodiscard]] NodeEvents node_events(const Market& market, const Cluster& cluster, Seconds horizon, std::uint64_t seed);

/// Time for which a node could compute, summed over spans, and how many were lost by preemption.
[[nodiscard]] Seconds usable_time(const NodeEvents& events);
[[nodiscard]] int preemptions(const NodeEvents& events);

}  // namespace trainyard
