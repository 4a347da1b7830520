// Names of devices, layers and passes to ids, and back. Private to sim/planning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/symbolic_plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard::plan_names {

/// The place of a key in the map that a level was read from; of the map where the key is not there.
[[nodiscard]] SourcePlace place_of(const Written& written, std::string_view key = "");

/// Node groups of a cluster and what stands in them.
class DeviceNames {
 public:
  explicit DeviceNames(const Cluster& cluster);
  /// In the order of the set, nodes before devices. What does not exist goes to `diagnostics`.
  [[nodiscard]] std::vector<DeviceId> ids(const DeviceSet& set, const SourcePlace& place,
                                          Diagnostics& diagnostics) const;
  /// The shortest set that lists these devices in this order.
  [[nodiscard]] DeviceSet set(const std::vector<DeviceId>& devices) const;

 private:
  [[nodiscard]] std::vector<DeviceId> piece_ids(const DevicePiece& piece, const SourcePlace& place,
                                                Diagnostics& diagnostics) const;
  [[nodiscard]] std::vector<DeviceId> gpus_of(NodeId node) const;
  [[nodiscard]] DevicePiece piece_of(const std::vector<DeviceId>& devices, std::size_t& at) const;

  const Cluster& cluster_;
  std::map<std::string, std::vector<NodeId>, std::less<>> groups_;
  std::vector<int> index_in_group_;  ///< [node]
  std::vector<int> index_in_node_;   ///< [device]; -1 for what is no GPU
};

/// Layers of a module by name; where no name is a number, a number is a layer's position from 0.
[[nodiscard]] std::vector<LayerId> layer_ids(const LayerSet& set, const Module& module, const SourcePlace& place,
                                             Diagnostics& diagnostics);
[[nodiscard]] LayerSet layer_set(const std::vector<LayerId>& layers, const Module& module);

/// The pass of that name; "": the only one, or the only one that trains.
[[nodiscard]] std::optional<PassId> find_pass(const Workload& workload, std::string_view name);

}  // namespace trainyard::plan_names
