// The question that a planner outside the program gets.
#pragma once

#include <cstdint>
#include <string>

#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Cluster, workload, profile of every layer on every type of GPU (one sample, no tensor axis), budget and seed as JSON. The fields are
/// documented in strategies/README.md; SI units stand in their names.
[[nodiscard]] std::string planning_json(const Cluster& cluster, const Workload& workload, std::int64_t budget, std::uint64_t seed);

}  // namespace trainyard
