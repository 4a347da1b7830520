// Closed form of a collective that nothing disturbs.
#pragma once

#include "sim/model/cluster.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

enum class CollectiveKind { all_reduce, reduce_scatter, all_gather, send };

/// Who takes part and over what, as the ring algorithm sees it.
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int members = 2;
  int hops = 2;                      ///< stations whose latency counts: nodes if the group spans several, else members
  int rings = 1;                     ///< parallel rings, each with 1/rings of the bytes
  BytesPerSecond ring_rate{};        ///< of one ring when all run: the least capacity over multiplicity of its links
  Seconds hop_latency{};             ///< of the slowest hop
};

/// delay + bytes / ring_rate: the delay is what no bandwidth shortens.
struct CollectiveCost {
  Seconds delay{};
  Bytes bytes{};                     ///< through each link, for each ring that crosses it; a whole number
  [[nodiscard]] Seconds alone(BytesPerSecond rate) const { return delay + bytes / rate; }
};

/// Ring algorithm on `size` bytes (the whole buffer): bytes = f · size / rings with f = 2(n-1)/n for all-reduce, (n-1)/n for
/// reduce-scatter and all-gather, 1 for a send; delay = setup + max((hops-1) · step, steps · hop latency) + sqrt(x · ramp),
/// x = bytes / ring_rate. Source: fits of nccl-tests tables (topologies/transports.yaml); steps = 2(n-1), n-1 or 1.
[[nodiscard]] CollectiveCost collective_cost(const CollectiveShape& shape, const Transport& transport, Bytes size);

}  // namespace trainyard
