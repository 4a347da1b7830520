// What moves between layers of one stage whose layouts differ.
#pragma once

#include <vector>

#include "sim/cost/collective_time.hpp"
#include "sim/cost/placement.hpp"

namespace trainyard {

/// Devices that exchange parts of their activations so that each ends with what the next layers need of it.
struct Resharding {
  std::vector<DeviceId> members;
  CollectiveKind kind = CollectiveKind::all_gather;
  double share = 0;                      ///< size of the exchange as a share of a micro-batch's activations
  std::vector<double> parts = {};        ///< [member] of a gather whose members hold unequal parts, as shares of a micro-batch's activations
};

/// From the layout of role `from` to that of `to`, on the same devices: each device keeps the intersection of what it holds and what it
/// needs (samples x positions; sequence parallelism cuts positions by tensor rank) and fetches the rest from one holder of each part.
/// Devices that need all of each other's parts gather; others exchange all to all, at the pace of the busiest port. Nothing where
/// slices suffice. Source: plans.md rule 4; Galvatron's slice-gather, arXiv 2211.13878 §3.3.
[[nodiscard]] std::vector<Resharding> resharding(const Placement& placement, int from, int to);

/// Activations of one micro-batch that go from role `from` to role `to`, neighbouring sections of a stage in either direction.
[[nodiscard]] Bytes micro_batch_activations(const Placement& placement, int from, int to, DataType precision);

}  // namespace trainyard
