// What simpler ways of predicting reach on the same rows, fitted on the answers themselves.
#pragma once

#include <string>
#include <vector>

#include "validation/comparison.hpp"

namespace trainyard {

/// Errors of a source's step times. `site`: predictions times one factor for each (source, GPU), the median of measured over predicted.
/// `mfu_by_gpu` and `mfu_by_model`: model FLOPs over the peak and one MFU for each (source, GPU), or (source, GPU, model), the median
/// of the rows themselves. These three know the answers. `left_out`: predictions times one factor for each generation of GPUs, the median
/// over the other sources of each one's median of measured over predicted (1 where no other source has the generation): what fitting on
/// all but this source would give it.
struct Yardsticks {
  std::string source;  ///< "all" first
  std::optional<ErrorSummary> plain, left_out, site, mfu_by_gpu, mfu_by_model;
};

[[nodiscard]] std::vector<Yardsticks> yardsticks(const std::vector<ComparedRow>& rows);

/// Signed errors of estimates after the factor that the other sources give to a row's generation. Of equal length.
[[nodiscard]] std::vector<double> left_out_errors(const std::vector<double>& measured, const std::vector<double>& estimated,
                                                  const std::vector<std::string>& generation, const std::vector<std::string>& source);

/// Signed errors of estimates after one factor for each name, the median of measured over estimated. Of equal length.
[[nodiscard]] std::vector<double> scaled_errors(const std::vector<double>& measured, const std::vector<double>& estimated,
                                                const std::vector<std::string>& name);

}  // namespace trainyard
