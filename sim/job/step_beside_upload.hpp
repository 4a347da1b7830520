// A step while a checkpoint travels from the hosts' memory to the store: both use the nodes' network cards.
#pragma once

#include <vector>

#include "sim/engine/workers.hpp"
#include "sim/lowering/lower.hpp"
#include "sim/lowering/state_moves.hpp"
#include "sim/model/market.hpp"

namespace trainyard {

class StepMemory;

struct StepBesideUpload {
  Seconds step{};                        ///< once it repeats, or the mean of the simulated steps behind the first
  Seconds upload{};                      ///< until the last byte is in the store, if training goes on so long
};

/// `moves`: from hosts to the store; `alone`: what they take with nothing beside them; `step`: the step without them. Where the store bounds
/// every sender even beside a flow of the step, the upload takes as long as alone and its mean rates are taken from the links' bandwidths.
/// Else the step's graph gets an endless upload of each node, and whoever shares a link shares it fairly. Remembered in `memory`.
[[nodiscard]] StepBesideUpload step_beside_upload(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                                  const std::vector<StateMove>& moves, Seconds alone, Seconds step, const Store& store,
                                                  LoweringOptions options, const WorkerNursery& nursery, StepMemory& memory);

}  // namespace trainyard
