// The coarsest equitable partition of a labelled graph's vertices.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard {

/// An edge with a label; its two ends tell each other apart (`from`, `to`).
struct LabelledArc {
  int from, to;
  std::uint64_t label;
};

/// Splits the classes of equal `colours` [vertex] until the members of each have, label by label, equally many neighbours of each
/// class; returns the class of each vertex. A class is looked at again only where a neighbour's class has changed.
/// Source: Cardon and Crochemore, Partitioning a graph in O(|A| log |V|), 1982; neighbourhoods are compared by sums of hashes.
[[nodiscard]] std::vector<int> refine_colours(const std::vector<std::uint64_t>& colours, const std::vector<LabelledArc>& arcs);

}  // namespace trainyard
