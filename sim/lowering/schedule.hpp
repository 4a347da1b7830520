// In which order a stage works on its micro-batches.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/placement.hpp"

namespace trainyard {

/// Forward pass, backward pass (or only its input gradients) or weight gradients of one micro-batch through one chunk.
struct ScheduledOperation {
  char kind = 'F';                       ///< F, B or W
  int micro_batch = 0, chunk = 0;
  friend bool operator==(const ScheduledOperation&, const ScheduledOperation&) = default;
};

/// Whether the schedule runs weight gradients apart from the backward pass.
[[nodiscard]] bool splits_backward(const std::string& schedule);

/// Whether stages compute while their messages travel, whatever the software does in 1f1b: interleaved and zero-bubble schedules
/// post their sends and receives ahead. Source: Megatron-LM, schedules.py, overlap_p2p_comm; arXiv 2401.10241 §4.
[[nodiscard]] bool overlaps_transfers(const std::string& schedule);

/// The operations of a stage in order.
///   gpipe, 1f1b   forward passes until `in_flight` are held, then backward and forward in turn (arXiv 2104.04473 §2.2)
///   interleaved   the same over chunks: p micro-batches through a chunk, then the next chunk (§2.2; micro-batches a multiple of p)
///   zb_h1         1f1b with weight gradients put off by as many micro-batches as the stage's number, so that every stage holds p
///                 (Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241 §2.2)
[[nodiscard]] std::vector<ScheduledOperation> stage_schedule(const std::string& schedule, const StageRole& role);

}  // namespace trainyard
