// Who talks to whom, over which links: every communicator of a placement, before any time is known.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/cost/collective_time.hpp"
#include "sim/cost/placement.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// The first five lie inside a cell, one an axis. `shards` gathers weights and scatters gradients of zero 3, `expert_shards` those of experts
/// that are cut apart; `replicas` adds up equal shards. `to_device`, `to_host`: copies of one
/// device; `host_work`: what its worker on the host does.
/// `expert`: an all-to-all among the ranks of an expert axis; `expert_tensor`: among the devices that share one rank; `expert_gradients`:
/// all that hold the same experts.
enum class CommunicatorKind {
  tensor, context, rows, columns, inner, expert, expert_tensor, expert_gradients, forward_transfer, backward_transfer, reshard_forward, reshard_backward, gradients, tied_embedding, shards, expert_shards, replicas, to_device, to_host, host_work
};

/// Layers whose gradients the same cells hold: they are synchronised together, in buckets.
struct LayerRun {
  std::vector<LayerId> layers;           ///< neighbours in the model, in its order
  std::vector<int> cells;                ///< holders, ascending
  /// Parts of the common refinement of the holders' tensor axes: the least common multiple of their sizes.
  [[nodiscard]] int slices(const Placement& placement) const;
  [[nodiscard]] int shards(const Placement& placement) const;   ///< the same of their shards (zero 3)
  [[nodiscard]] bool held_by(int cell) const;
  [[nodiscard]] int holders(const Placement& placement) const;  ///< devices that hold the same part: data times context ranks
  [[nodiscard]] int expert_holders(const Placement& placement) const;  ///< the same of experts that are cut apart; 0: none are
};

/// The ring of a group's members on one of its nodes.
struct InnerRing {
  int members = 1;                       ///< on each node
  int rings = 1;
  std::vector<std::pair<LinkId, int>> links;
  TransportId transport{};
};

/// A group of devices that exchange data, with the links that one exchange uses at once.
struct Communicator {
  CommunicatorKind kind = CommunicatorKind::tensor;
  std::vector<DeviceId> members;         ///< transfers: senders, then receivers
  std::vector<int> cells;                ///< cells concerned; transfers and reshardings: senders, then receivers
  int run = -1;                          ///< gradients, also of experts: index of its LayerRun
  int expert_rank = 0;                   ///< expert_gradients and expert_shards: of the experts
  int pairs = 1;                         ///< transfers: device pairs that send at once
  double share = 1;                      ///< transfers: of the sender's samples; reshardings: of a micro-batch's activations
  CollectiveKind pattern = CollectiveKind::send;   ///< of a resharding
  std::vector<double> parts{};           ///< [member] of a resharding that gathers unequal parts: shares of a micro-batch's activations
  int from_chunk = 0, to_chunk = 0;      ///< transfers: chunks of the sender and the receiver
  std::vector<std::pair<LinkId, int>> links;
  int rings = 1, hops = 2;
  int ring_members = 0;                  ///< of each of several groups that share devices and advance together; 0: all members
  Seconds hop_latency{};
  TransportId transport{};
  int nodes = 1;                         ///< that a ring's members lie on
  std::optional<InnerRing> inside{};     ///< where the Plan's `wire` treats nodes apart and all hold equally many members
  std::optional<NodeId> host{};          ///< copies and host work
  std::vector<int> sharers{};            ///< the same, [layer of the stage]: devices of the host that hold the same part
  BytesPerSecond limit{};                ///< host work: its share of the cores; 0: none
  /// For collective_cost(); the rate must be set from the capacities.
  [[nodiscard]] CollectiveShape shape(CollectiveKind kind_of_collective) const;
};

/// The axis of a cell that a communicator's members lie along; nothing for traffic between cells.
[[nodiscard]] std::optional<LayerGroup> axis_of(CommunicatorKind kind);

struct TrafficMap {
  std::vector<LayerRun> runs;            ///< in the model's order
  std::vector<Communicator> all;
};

/// Groups along each axis of a cell and of experts (size above 1), transfers between neighbouring visits in both directions (a cell exchanges
/// with every cell that holds samples of its own), changes of layout inside a stage, gradient groups (one a layer run
/// and tensor rank, above one holder; where holders cut a layer differently, one a part of the common refinement; with zero 3 instead one a stage among its shards, one among all that hold the same experts and
/// one among all replicas of each part), and the reduction of a table that first and last stage share.
[[nodiscard]] TrafficMap traffic_of(const Placement& placement, const Router& router);

}  // namespace trainyard
