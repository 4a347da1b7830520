// Paths over a cluster's links.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

class RingBuilder;

/// One way from a device to another.
struct Route {
  std::vector<LinkId> links;    ///< in order; empty from a device to itself
  Seconds latency{};            ///< sum over the links
  BytesPerSecond bottleneck{};  ///< least bandwidth
};

/// Links that members of one ring (or several parallel rings) use at once. Each ring carries 1/rings of the bytes; a
/// link that k rings cross stands there with multiplicity k.
struct RingUse {
  int rings = 1;
  std::vector<std::pair<LinkId, int>> links;  ///< by LinkId
  Seconds hop_latency{};                      ///< the slowest hop between neighbours of a ring
  TransportId transport{};                    ///< of the slowest hop
  int nodes = 1;  ///< how many nodes the members lie on; nodes of one NVLink domain count as one
  std::vector<DeviceId> beside_first;  ///< members on the first one's of several nodes that all hold equally many, above one; else none
};

/// Throws UserError naming both devices when there is no path. Keeps a reference to the cluster, which must outlive it.
/// One thread at a time (the cache).
class Router {
 public:
  explicit Router(const Cluster& cluster);
  explicit Router(Cluster&&) = delete;
  ~Router();
  Router(Router&&) noexcept;

  /// Fewest links, ties to the wider, then to the lower link id. GPUs hand traffic on only between GPUs of their own
  /// node (direct links of a mesh), NICs only between their own node and another, hosts and stores never. Between GPUs
  /// of different nodes, first without crossing a host; where that leads nowhere (rails without a spine), through the
  /// GPU of the sender's node that does reach the receiver, its like first (as NCCL's PXN); else over hosts. Cached;
  /// deterministic. Cost of a new route: the devices' surroundings, not the cluster.
  [[nodiscard]] const Route& route(DeviceId from, DeviceId to) const;

  /// Rings over the members in the order given, regrouped node by node. Inside a node: the most link-disjoint
  /// Hamiltonian rings over direct links (NVLink mesh), else one ring through the switch. Between nodes: as many rings
  /// as the best-connected node has NICs among its members' (node j's ring r leaves by NIC r modulo its NICs), each
  /// passing all members of a node. Where the inside is wider than the way to the NIC, the last member hands over to
  /// the member beside the NIC, so that every member's port is crossed once a ring. At least two members, all GPUs,
  /// none twice.
  [[nodiscard]] RingUse rings(std::span<const DeviceId> members) const;

  /// The transport of the slowest link of a route; inside a node that of a host bridge which it passes; where its NICs are of families that cannot exchange memory directly
  /// (InfiniBand and RoCE, say), or one of its links speaks TCP only, the cluster's TCP transport. Rings: the same for
  /// all hops as soon as one needs it, since a communicator chooses its transport once. Bytes still move at the links'
  /// own rates.
  [[nodiscard]] TransportId transport_of(const Route& route) const;

  /// What it finds paths in.
  [[nodiscard]] const Cluster& cluster() const;

 private:
  friend class RingBuilder;
  struct State;
  [[nodiscard]] const Route* find_route(DeviceId from, DeviceId to) const;
  [[nodiscard]] std::optional<std::vector<LinkId>> search_route(DeviceId from, DeviceId to) const;
  [[nodiscard]] std::optional<std::vector<LinkId>> route_by_peer(DeviceId from, DeviceId to) const;
  [[nodiscard]] std::optional<TransportId> common_transport(const Route& route) const;
  [[nodiscard]] std::optional<TransportId> bridge_inside(const Route& route) const;
  [[nodiscard]] NodeId island_of(NodeId node) const;
  [[nodiscard]] std::vector<LinkId> direct_links(DeviceId from, DeviceId to) const;
  [[nodiscard]] DeviceId nic_of(DeviceId gpu) const;
  std::unique_ptr<State> state_;
};

}  // namespace trainyard
