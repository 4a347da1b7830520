// Errors drawn from validation for the results of others: bands by ground, bounds of the memory verdict.
#pragma once

#include <string>
#include <vector>

#include "sim/job/error_bands.hpp"
#include "validation/comparison.hpp"

namespace trainyard {

/// Grounds, and their wider groups, that have at least 20 measured step times from at least two sources; the group of all always.
[[nodiscard]] std::vector<ErrorBands::Entry> draw_bands(const std::vector<ComparedRow>& rows);

/// Of rows of the `calibrate` split whose memory verdict is known: the fill below which 2 % of those that ran out lie, and that above
/// which 2 % of those that fitted lie; both 1 where one kind is missing.
[[nodiscard]] FillBounds draw_fill_bounds(const std::vector<ComparedRow>& rows);

/// The text of `validation/error_bands.yaml`, with the predicted times of a few small rows of every source, by which a test tells
/// whether it is stale. `catalogues`: their hash.
[[nodiscard]] std::string error_bands_text(const std::vector<ComparedRow>& rows, const std::string& catalogues);

}  // namespace trainyard
