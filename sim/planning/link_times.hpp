// Times of traffic that has its links to itself, for planners' own cost models.
#pragma once

#include <vector>

#include "sim/cost/collective_time.hpp"
#include "sim/cost/stage_work.hpp"
#include "sim/model/cluster.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {

/// A ring over devices as the cost functions want it; empty below two members.
[[nodiscard]] RingGroup ring_group(const Router& router, const Cluster& cluster, const std::vector<DeviceId>& members);

/// The first of several rings that run at the same times, over links that they may share.
[[nodiscard]] RingGroup first_of_rings(const Router& router, const Cluster& cluster, const std::vector<std::vector<DeviceId>>& together);

/// collective_cost of `size` bytes on that ring. Zero below two members.
[[nodiscard]] Seconds collective_time(RingGroup group, CollectiveKind kind, Bytes size);

/// One message from a device to another. Zero from a device to itself.
[[nodiscard]] Seconds transfer_time(const Router& router, const Cluster& cluster, DeviceId from, DeviceId to, Bytes size);

}  // namespace trainyard
