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
  Seconds step{};                        ///< mean of the simulated steps behind the first
  Seconds upload{};                      ///< until the last byte is in the store, if training goes on so long
};

/// `moves`: from hosts to the store; `alone`: what they take with nothing beside them; `step`: the step without them. The step's graph with an endless upload of each
/// node added: whoever shares a link with it shares it fairly. Remembered in `memory` by that graph.
[[nodiscard]] StepBesideUpload step_beside_upload(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                                  const std::vector<StateMove>& moves, Seconds alone, Seconds step, const Store& store,
                                                  LoweringOptions options, const WorkerNursery& nursery, StepMemory& memory);

}  // namespace trainyard
