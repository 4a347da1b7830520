#include "topologies/market/price_series.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/message.hpp"
#include "sim/config/schema.hpp"

namespace trainyard {
namespace {

/// SkyPilot's catalogue writes it for what a cloud does not sell.
constexpr double kNotSold = 700;
constexpr double kHighest = 36000;  // USD/h, the limit of `cluster.nodes[].price`

/// One change of price in one zone.
struct Change {
  double at = 0;
  const std::string* zone = nullptr;
  double usd_per_h = 0;
};

std::vector<Change> in_order(const ZonePrices& prices) {
  std::vector<Change> changes;
  for (const auto& [zone, samples] : prices)
    for (const PriceSample& sample : samples) changes.push_back({sample.at, &zone, sample.usd_per_h});
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

double combined(const std::map<std::string, double>& now, bool cheapest) {
  double sum = 0, least = now.begin()->second;
  for (const auto& [zone, price] : now) sum += price, least = std::min(least, price);
  return cheapest ? least : sum / double(now.size());
}

PriceSeries series_of(const ZonePrices& prices, bool cheapest, bool loop) {
  const std::vector<Change> changes = in_order(prices);
  std::map<std::string, double> now;
  std::vector<PriceStep> steps;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    now[*changes[i].zone] = changes[i].usd_per_h;
    if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
    const DollarsPerSecond price = dollars_per_hour(combined(now, cheapest));
    if (steps.empty() || !(steps.back().price == price)) steps.push_back({Seconds(changes[i].at - changes.front().at), price});
  }
  return {std::move(steps), Seconds(changes.back().at - changes.front().at), loop};
}

}  // namespace

bool is_price(double usd_per_h, const SourcePlace& place, Diagnostics& diagnostics) {
  if (usd_per_h == kNotSold)
    diagnostics.add(place, "700 USD/h is what catalogues write for an instance that is not sold: no price is known");
  else if (!(usd_per_h > 0 && usd_per_h <= kHighest))
    diagnostics.add(place, fmt::format("{:g} USD/h is no price: above 0 and at most {:g}", usd_per_h, kHighest));
  else
    return true;
  return false;
}

std::optional<PriceSeries> price_series_of(ZonePrices prices, const std::string& zone, bool loop, const SourcePlace& asked,
                                           Diagnostics& diagnostics) {
  const bool all = zone.empty() || zone == "mean" || zone == "cheapest";
  if (!all && !prices.contains(zone)) {
    std::vector<std::string> known;
    for (const auto& [name, samples] : prices) known.push_back(name);
    return diagnostics.add(asked, unknown_name("zone in the prices", zone, known)), std::nullopt;
  }
  if (!all) prices = {{zone, prices.at(zone)}};
  for (const auto& [name, samples] : prices)
    for (const PriceSample& sample : samples)
      if (!is_price(sample.usd_per_h, sample.place, diagnostics)) return std::nullopt;
  return series_of(prices, zone == "cheapest", loop);
}

}  // namespace trainyard
