// Prices of several zones as one series; private to topologies.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/model/market.hpp"

namespace trainyard {

/// A price at a time (seconds since any start), as read.
struct PriceSample {
  double at = 0;
  double usd_per_h = 0;
  SourcePlace place;
};
/// By zone; "" where the file has none.
using ZonePrices = std::map<std::string, std::vector<PriceSample>>;

/// Whether it is a price at all; else a mistake.
[[nodiscard]] bool is_price(double usd_per_h, const SourcePlace& place, Diagnostics& diagnostics);
/// The series of one zone, or over all zones the mean or the cheapest at each time, of those that have a price by then.
/// Starts at the first record. `known`: a file without the zone is a mistake at `asked`.
[[nodiscard]] std::optional<PriceSeries> price_series_of(ZonePrices prices, const std::string& zone, bool loop, const SourcePlace& asked,
                                                         Diagnostics& diagnostics);

}  // namespace trainyard
