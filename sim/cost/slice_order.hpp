// A pass whose micro-batch is cut into slices: which kernels and collectives follow which.
#pragma once

#include <span>
#include <vector>

#include "sim/cost/stage_work.hpp"

namespace trainyard {

/// A run of kernels, or one collective, of one slice.
struct SliceStep {
  std::size_t from = 0, to = 0;          ///< pieces [from, to)
  bool collective = false;
  std::vector<std::size_t> after;        ///< earlier steps, by number
};

/// The steps of all slices in the order in which the compute and the tensor stream take them. A slice's steps follow each other; slices
/// take turns at every collective. `pieces`: of one slice. Unless slices hide collectives, every step waits for the one before.
/// With `each_kernel` kernels are steps of their own.
/// Source: Wang et al., Domino, arXiv 2409.15241 §3 (slices of the batch; slices of the second matrix, see Piece::behind).
struct SliceOrder {
  std::vector<SliceStep> steps;
  std::vector<std::size_t> last;         ///< steps that nothing follows
};
[[nodiscard]] SliceOrder slice_order(std::span<const TimedPiece> pieces, const LayerCut& cut, bool each_kernel = false);

/// Time of a pass: the sum of the pieces, or with slices the makespan of their steps on two streams, with kernels slowed by the share of
/// the device that a collective takes while it moves bytes.
[[nodiscard]] Seconds pass_time(std::span<const TimedPiece> pieces, const LayerCut& cut);

}  // namespace trainyard
