// Work of a node's CPU cores on states that live in its memory.
#pragma once

#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Bytes of host memory that the update of one parameter moves: fp32 weight and two moments read and written, the gradient read, and the
/// 16-bit weight written where there is one. Source: counted.
[[nodiscard]] Bytes host_update_bytes(const Workload& workload);

/// Bytes to add one parameter's gradient to the sum in host memory: both read, the sum written.
[[nodiscard]] Bytes host_addition_bytes(const Workload& workload);

/// Parameters a second that all cores of a host update with vectorised Adam, memory aside: 81 million a core.
/// Source: ZeRO-Offload, arXiv 2101.06840, Table 4: CPU-Adam takes 2.57 s for 10 billion parameters on 48 cores of Xeon Platinum 8168
/// (recalled).
[[nodiscard]] double host_updates_per_second(const DeviceType& host);

}  // namespace trainyard
