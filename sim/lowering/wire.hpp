// What a Plan's `wire` makes of collectives: their algorithms.
#pragma once

#include "sim/lowering/traffic.hpp"

namespace trainyard {

/// The inside of a group's nodes with only its own ring on the links.
[[nodiscard]] std::optional<InnerGroup> inner_group(const Cluster& cluster, const Communicator& group);

/// Of the group, with the algorithm of all-reduces that `wire` names; the rate must be set. Inside one node, and among nodes with one
/// member each, a hierarchical all-reduce is a ring.
[[nodiscard]] CollectiveShape shape_by_wire(const Cluster& cluster, const Communicator& group, CollectiveKind kind, const Wire& wire);

/// collective_cost(), or of a gather as `wire.all_gather` says: padded or grouped, of equal parts. UserError where the transport does
/// not offer the algorithm of an all-reduce.
[[nodiscard]] CollectiveCost cost_by_wire(const CollectiveShape& shape, const Transport& transport, Bytes size, const Wire& wire);

}  // namespace trainyard
