// The `data:` part of a workload: samples of different length, and how they become micro-batches.
#pragma once

#include <string>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

[[nodiscard]] Schema data_schema();

/// Draws the samples of a step's batch into `workload.data`. Needs its sequence length and global batch.
/// `joined_frames`: of a video, that a patch of the encoder joins; 0: no encoder of images.
void read_data(const View& section, const std::string& directory, Workload& workload, Diagnostics& diagnostics, double joined_frames = 0);

/// Best fit decreasing: each sample, longest first, into the fullest pack that still has room. [pack]: indices, packs
/// in order of their first sample, samples in order. Source: Johnson et al., SIAM J. Computing 3 (1974).
[[nodiscard]] std::vector<std::vector<int>> packed(const std::vector<double>& lengths, double capacity);

}  // namespace trainyard
