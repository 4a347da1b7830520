// Moves of training state as a TaskGraph: checkpoints that are saved, and what a changed cluster fetches (design.md §5, Transition).
#pragma once

#include <vector>

#include "sim/lowering/state_moves.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/market.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// One task a move; all run at once and share the links between devices, hosts and network cards, and the store. What goes to or comes
/// from the store passes the host's memory and one of the node's cards. UserError where a node has no host and one is needed, or there
/// is no store.
[[nodiscard]] TaskGraph lower_moves(const std::vector<StateMove>& moves, const Cluster& cluster, const Router& router,
                                    const Store& store);

/// The links from a device's host to the world outside, or back.
[[nodiscard]] std::vector<LinkId> links_to_outside(const Cluster& cluster, const Router& router, DeviceId device);
[[nodiscard]] std::vector<LinkId> links_from_outside(const Cluster& cluster, const Router& router, DeviceId device);

}  // namespace trainyard
