// Which bytes go from where to where when training state is saved, or taken up by another Plan.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/cost/state_holdings.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

enum class SiteKind { device, host, store };

/// A place where state lies: a device, the memory of a device's host, or the store.
struct Site {
  SiteKind kind = SiteKind::store;
  DeviceId device{};                     ///< for host: one of its node's
  friend auto operator<=>(const Site&, const Site&) = default;
};

/// All that goes from one place to another, over the given layers.
struct StateMove {
  Site from, to;
  Bytes bytes{};
  LayerId first{}, last{};
  friend bool operator==(const StateMove&, const StateMove&) = default;
};

/// Where the version of the state that is wanted lies now, in the ids of the cluster after the change.
struct StateCopies {
  Holdings devices;                      ///< [device] in its own memory; empty: nowhere
  Holdings hosts;                        ///< [device] in its host's memory; empty: nowhere
  bool in_store = false;                 ///< all of it
};

/// What every device lacks of `wanted`, each part from its nearest holder: its own host, a device or host of its node, then one of its
/// zone, of its region, anywhere, then the store; of equally near ones, devices before hosts, the one that has given least so far, then
/// the first. Ordered by destination and source. Nothing when a part is nowhere.
[[nodiscard]] std::optional<std::vector<StateMove>> moves_to(const Holdings& wanted, const StateCopies& now, const StateSizes& sizes,
                                                            const Cluster& cluster);

/// Every device's state to its host's memory.
[[nodiscard]] std::vector<StateMove> moves_to_hosts(const Holdings& held, const StateSizes& sizes);
/// Each part once to the store, from its holders in equal shares; from the hosts' memory or from the devices.
[[nodiscard]] std::vector<StateMove> moves_to_store(const Holdings& held, SiteKind from, const StateSizes& sizes);

/// Bytes of moves between these kinds of places.
[[nodiscard]] Bytes bytes_from(const std::vector<StateMove>& moves, SiteKind from);

}  // namespace trainyard
