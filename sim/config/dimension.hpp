// What differs between the dimensions when a schema speaks about quantities. Private to sim/config.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/schema.hpp"

namespace trainyard {

/// A quantity read in SI units, or why not.
struct QuantityValue {
  std::optional<double> value;
  std::string error;
};

[[nodiscard]] QuantityValue parse_quantity(Dimension dimension, std::string_view text);
[[nodiscard]] std::string quantity_text(Dimension dimension, double value);
[[nodiscard]] std::vector<std::string> unit_names(Dimension dimension);
/// A quantity as people would write it that lies within `range`, e.g. `80 GiB`.
[[nodiscard]] std::string example(Dimension dimension, const Range& range);

/// Whether `value` lies within; NaN does not.
[[nodiscard]] bool contains(const Range& range, double value);
/// `between 0 s and 1 h`, `above 0 B`, `at most 100`; the bounds are shown by `show(double)`.
template <class Show>
[[nodiscard]] std::string range_text(const Range& range, Show show) {
  const bool from = std::isfinite(range.low), to = std::isfinite(range.high);
  if (from && to && range.low == range.high) return "exactly " + show(range.low);
  if (from && to && !range.above_low) return "between " + show(range.low) + " and " + show(range.high);
  const std::string low = (range.above_low ? "above " : "at least ") + show(range.low);
  const std::string high = "at most " + show(range.high);
  return from && to ? low + " and " + high : from ? low : to ? high : "any";
}

}  // namespace trainyard
