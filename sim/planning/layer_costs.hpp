// What planners measure before they plan: time and memory of each layer on each kind of tensor group, from the simulation's own cost
// functions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// One layer, one micro-batch, one device of the group.
struct LayerCost {
  Seconds forward{}, backward{};         ///< with the tensor axis' collectives; backward with what it recomputes
  Bytes states{};                        ///< weights, gradients and optimizer, unsharded
  Bytes optimizer{};                     ///< of these: what ZeRO 1 shards
  Bytes kept{};                          ///< activations from the end of its forward to its backward pass
  Bytes transient{};                     ///< most that its backward pass adds to them, with the buffers that layers share
  Bytes gradients{};                     ///< that a data-parallel exchange moves
  Bytes weights{};                       ///< that a gather of weights moves
  Bytes output{};                        ///< activations that go to the next layer, of the whole micro-batch
};

/// Devices that work as one on a micro-batch of so many sequences.
struct LayerQuestion {
  std::vector<DeviceId> group;           ///< its size is the tensor axis
  double sequences = 1;
  RecomputeKind recompute = RecomputeKind::none;
};

/// Answers are kept, since planners ask the same thing often. Keeps references to all three arguments.
class LayerCosts {
 public:
  LayerCosts(const Cluster& cluster, const Workload& workload, const Router& router);

  /// [layer] of the workload's module. Groups of equal device types over equal links share one answer.
  [[nodiscard]] const std::vector<LayerCost>& of(const LayerQuestion& question);
  [[nodiscard]] const Module& module() const { return module_; }
  /// What a device of the group can give to the tensors of a stage: its memory less fragmentation and the type's reserve.
  [[nodiscard]] Bytes usable_memory(DeviceId device, int tensor) const;

 private:
  [[nodiscard]] std::vector<LayerCost> measure(const LayerQuestion& question) const;

  const Cluster& cluster_;
  const Workload& workload_;
  const Router& router_;
  const Module& module_;
  std::map<std::vector<double>, std::vector<LayerCost>> known_;
};

}  // namespace trainyard
