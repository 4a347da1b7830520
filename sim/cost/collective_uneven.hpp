// Collectives whose members hold unequal parts, and all-to-alls with a size for each pair.
#pragma once

#include <vector>

#include "sim/cost/collective_time.hpp"

namespace trainyard {

/// What passes a port in each direction.
struct PortBytes {
  Bytes out{}, in{};
  friend bool operator==(const PortBytes&, const PortBytes&) = default;
};

/// [sender][receiver], square; what a member sends itself counts nowhere.
using SizeMatrix = std::vector<std::vector<Bytes>>;

/// Bytes by port when member i sits behind port `port_of[i]` (a device's own port, a NIC, a node's up-link); traffic between
/// members behind one port does not pass it. Ports count from 0 to the highest named.
[[nodiscard]] std::vector<PortBytes> port_bytes(const SizeMatrix& sizes, const std::vector<int>& port_of);

/// An all-to-all with a port for each member: the busiest direction of any port at `shape.ring_rate`.
[[nodiscard]] CollectiveCost exchange_cost(const CollectiveShape& shape, const Transport& transport, const SizeMatrix& sizes);

/// All-gather or reduce-scatter (shape.kind) of unequal parts, one a member. padded: all as large as the largest. grouped: one
/// broadcast (reduction) for each member, launched one after the other. automatic: the faster. Source: HAP (Zhang et al. 2024), §5.
[[nodiscard]] CollectiveCost uneven_cost(const CollectiveShape& shape, const Transport& transport, const std::vector<Bytes>& parts,
                                         Algorithm algorithm);

}  // namespace trainyard
