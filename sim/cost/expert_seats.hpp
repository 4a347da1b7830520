// Which device holds which experts, and how many tokens come to them.
#pragma once

#include <vector>

#include "sim/cost/placement.hpp"

namespace trainyard {

/// Whether some operator of the layer is one of several items.
[[nodiscard]] bool has_experts(const LayerType& layer);
/// The largest number of items of its operators; 1 without.
[[nodiscard]] int items_of(const LayerType& layer);

/// Fills `items`, `loads` and `cut.experts` of a role from the layout and owners that hold for its layers' experts. Equal parts by
/// largest remainder unless the Plan names owners. A layer's load is what the workload says of it, else equal; capacity cuts each expert's.
void seat_experts(StageRole& role, const Stage& stage, const Module& module, const Workload& workload);

/// Position of a device of the stage in that layout: rank by the `expert` axis, slice by `tensor`, replica by the others.
[[nodiscard]] ExpertSeat seat_of(const Layout& experts, int device);

/// The busiest rank's tokens over the mean in the worst layer of any role; 0 without experts.
[[nodiscard]] double expert_imbalance(const Placement& placement);

}  // namespace trainyard
