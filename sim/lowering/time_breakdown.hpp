// Where the time of a window went, device by device.
#pragma once

#include "sim/lowering/lower.hpp"
#include "sim/model/step_report.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

/// Mean over devices of exclusive exposed time in [from, to]: what the compute stream does; while it is idle, the traffic that
/// runs on the device (tensor before expert, context, pipeline, data, offload, its update on the host); else bubble. Sums to `to - from`.
/// What has not ended in the timeline runs to the end of the window.
[[nodiscard]] TimeBreakdown time_breakdown(const Lowered& lowered, const Timeline& timeline, Seconds from, Seconds to);

}  // namespace trainyard
