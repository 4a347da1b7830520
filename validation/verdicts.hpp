// Memory verdicts with a middle: what is near the capacity is uncertain.
#pragma once

#include <string>
#include <vector>

#include "sim/job/error_bands.hpp"
#include "validation/comparison.hpp"

namespace trainyard {

/// Rows of which it is known whether they ran out of memory, by verdict: those that did and those that fitted.
struct UncertainVerdicts {
  std::size_t out_out = 0, out_fit = 0;              ///< said to run out: did, did not
  std::size_t uncertain_out = 0, uncertain_fit = 0;
  std::size_t fits_out = 0, fits_fit = 0;            ///< said to fit: ran out, fitted
};

[[nodiscard]] UncertainVerdicts uncertain_verdicts(const std::vector<ComparedRow>& rows, const FillBounds& bounds);

/// The table of them for both splits, with bounds drawn from the `calibrate` rows; "" where no verdict is known.
[[nodiscard]] std::string uncertain_text(const std::vector<ComparedRow>& rows);

}  // namespace trainyard
