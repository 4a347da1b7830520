// How the `market:` section becomes a Market; private to topologies.
#pragma once

#include <optional>
#include <string>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/model/market.hpp"
#include "topologies/market.hpp"

namespace trainyard {

/// What a group's nodes have in common.
struct MarketGroup {
  std::string name, zone, instance;
  MarketKind market = MarketKind::on_demand;
  int gpus = 1;
};

/// A source of availability for this group. Mistakes go to `diagnostics`.
[[nodiscard]] std::optional<Availability> read_source(const View& source, const MarketGroup& group, const std::string& directory,
                                                      Diagnostics& diagnostics);
/// Its price over time.
[[nodiscard]] std::optional<PriceSeries> read_price(const View& price, const MarketGroup& group, const std::string& directory,
                                                    Diagnostics& diagnostics);

/// A published rate of failures, by name; null where there is none.
struct FailureRate {
  std::string name, summary, source, confidence;
  Seconds every{};
};
[[nodiscard]] const FailureRate* failure_rate(const std::string& name);
[[nodiscard]] std::vector<std::string> failure_rate_names();

}  // namespace trainyard
