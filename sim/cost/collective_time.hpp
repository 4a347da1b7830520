// Closed form of a collective that nothing disturbs.
#pragma once

#include <string>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

enum class CollectiveKind { all_reduce, reduce_scatter, all_gather, send, broadcast, all_to_all };

/// The inside of each node, for algorithms that treat it apart.
struct InnerGroup {
  int members = 1;                   ///< in each node
  BytesPerSecond rate{};             ///< of each member's way to the others
  Transport transport;
};

/// Who takes part and over what, as the ring algorithm sees it.
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int members = 2;
  int hops = 2;                      ///< stations whose latency counts: nodes if the group spans several, else members
  int rings = 1;                     ///< parallel rings, each with 1/rings of the bytes
  BytesPerSecond ring_rate{};        ///< of one ring when all run: the least capacity over multiplicity of its links
  Seconds hop_latency{};             ///< of the slowest hop
  Algorithm algorithm = Algorithm::automatic;  ///< of an all-reduce; automatic: as the library chooses
  std::optional<InnerGroup> inside = std::nullopt;  ///< for hierarchical and in-network all-reduces over several nodes
};

/// delay + bytes / ring_rate: the delay is what no bandwidth shortens.
struct CollectiveCost {
  Seconds delay{};
  Bytes bytes{};                     ///< through each link, for each ring that crosses it; a whole number
  Algorithm algorithm = Algorithm::ring;  ///< what was chosen
  std::string protocol{};            ///< of the library, where the transport knows several
  [[nodiscard]] Seconds alone(BytesPerSecond rate) const { return delay + bytes / rate; }
};

/// Of `size` bytes: the whole buffer (all-reduce, broadcast, send), the gathered one, or what one member sends in an
/// all-to-all. With n members, h hops, m = n / h members a hop, bytes times rings, and messages in a row (inside nodes beside them):
///   ring             2(n-1)/n · size, 2(h-1) + 2(n-h)   reduce-scatter, all-gather: half; broadcast: size and half
///   tree             2 · size (one of h = 2: size), 2 log2(h) + 2(m-1): up and down
///   hierarchical     2(h-1)/h · size after a reduce-scatter and before an all-gather inside, both in the delay
///   in_network       (1 + 1/h) · size among devices on a switch; size, at the pace of the inside, between nodes; 2
///   all-to-all       m (h-1+own)/h · size, h-1;   send  size, 1
/// What messages and bytes cost: Transport. A protocol that reaches only the share `rate` of the links moves bytes / rate. Algorithm
/// and protocol are what the library expects to be fastest, which need not be.
/// Sources: Thakur et al. 2005 (ring), Sanders et al. 2009 (double tree), NCCL's tuning model (src/graph/tuning.cc), nccl-tests' tables
/// (topologies/transports.yaml). UserError when the transport cannot do the algorithm that was asked for.
[[nodiscard]] CollectiveCost collective_cost(const CollectiveShape& shape, const Transport& transport, Bytes size);

/// Whether it can be asked for on this shape.
[[nodiscard]] bool offers(const Transport& transport, const CollectiveShape& shape, Algorithm algorithm);

}  // namespace trainyard
