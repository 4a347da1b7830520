// What a sentence says of a Plan, counted.
#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/plan_traits.hpp"

namespace trainyard {

/// Of the first phase; recompute and ZeRO as written, not as defaults fill them.
[[nodiscard]] PlanTraits traits_of(const Plan& plan, const Cluster& cluster, const Workload& workload);

}  // namespace trainyard
