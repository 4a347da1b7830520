// In which order a stage works on its micro-batches.
#pragma once

#include <vector>

namespace trainyard {

/// Forward or backward pass of one micro-batch.
struct ScheduledOperation {
  bool forward = true;
  int micro_batch = 0;
  friend bool operator==(const ScheduledOperation&, const ScheduledOperation&) = default;
};

/// Forward passes until `in_flight` micro-batches are held, then backward and forward in turn, then the backward passes left.
/// gpipe holds all micro-batches; 1f1b holds p - i at stage i (Narayanan et al., arXiv 2104.04473 §2.2).
[[nodiscard]] std::vector<ScheduledOperation> stage_schedule(int micro_batches, int in_flight);

}  // namespace trainyard
