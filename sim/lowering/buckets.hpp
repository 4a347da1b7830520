// Gradients travel in buckets of neighbouring layers that the same cells hold.
#pragma once

#include <vector>

#include "sim/lowering/traffic.hpp"
#include "sim/model/software.hpp"

namespace trainyard {

struct Bucket {
  int run = 0;                           ///< LayerRun
  std::vector<LayerId> layers;           ///< in the model's order
  double experts = 0;                    ///< of those, experts that are cut apart: of one device, not in `parameters`
  double parameters = 0;                 ///< that are trained, of one part of the holders' common refinement: on one device of a holder, where all cut alike
};

/// In the order in which the backward pass completes them (last layers first). A Plan's `sync.bucket` cuts a run into buckets of
/// at least so many bytes, or layer by layer; without it overlapped reductions are cut at 40,000,000 parameters (Megatron-LM's
/// default for its data-parallel buckets), others not at all. Runs with one holder have no bucket, nor has zero 3, nor layers of which
/// nothing is trained.
[[nodiscard]] std::vector<Bucket> make_buckets(const Placement& placement, const TrafficMap& traffic, const Workload& workload);

}  // namespace trainyard
