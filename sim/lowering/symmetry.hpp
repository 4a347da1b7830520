// Devices in the same role see the same times: the coarsest equitable partition of devices, cells, links and communicators.
#pragma once

#include <span>
#include <vector>

#include "sim/lowering/traffic.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// A partition of things 0..n-1. Classes are numbered by their first member.
struct Partition {
  std::vector<int> class_of;             ///< [thing]; -1: takes no part
  std::vector<int> first;                ///< [class]: its first member, which stands for all
  std::vector<int> size;                 ///< [class]
  [[nodiscard]] int classes() const { return static_cast<int>(first.size()); }
};

struct Symmetry {
  Partition devices, links, cells, communicators;   ///< devices and links by the Cluster's ids
  Partition hosts;                       ///< nodes in whose memory states live
};

/// Colour refinement on the graph device - cell, device - communicator, communicator - link (labels: multiplicities), starting
/// from device types, slowdowns, link capacities, what happens to both, the stages' roles and the communicators' kinds. Every member of a class then has the
/// same number of neighbours of each class, so that one member of each simulates all exactly (design.md §6).
/// Links of `apart` are classes of their own. With `reduce` false every thing that takes part is a class of its own.
/// Source: Cardon and Crochemore, Partitioning a graph in O(|A| log |V|), 1982 (the partition; found here by hashing).
[[nodiscard]] Symmetry find_symmetry(const Cluster& cluster, const Placement& placement, const TrafficMap& traffic, bool reduce,
                                     std::span<const LinkId> apart = {});

}  // namespace trainyard
