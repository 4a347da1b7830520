#include "sim/model/market.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr Seconds kNever(std::numeric_limits<double>::infinity());

bool in_order(const std::vector<PriceStep>& steps) {
  return std::is_sorted(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

/// The step that holds at `time`; before the first one, the first.
std::vector<PriceStep>::const_iterator holding(const std::vector<PriceStep>& steps, Seconds time) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), time,
                                      [](Seconds t, const PriceStep& step) { return t < step.at; });
  return after == steps.begin() ? after : after - 1;
}

}  // namespace

PriceSeries::PriceSeries(DollarsPerSecond constant) : steps_{PriceStep{Seconds(0), constant}} {}

PriceSeries::PriceSeries(std::vector<PriceStep> steps, Seconds length, bool loop)
    : steps_(std::move(steps)), length_(length), loop_(loop && length.value > 0) {
  require(!steps_.empty() && in_order(steps_), "the steps of a price stand in order of time");
  require(steps_.front().at.value >= 0 && steps_.back().at <= length_, "the steps of a price lie within their record");
}

DollarsPerSecond PriceSeries::at(Seconds time) const {
  const Seconds inside = loop_ ? Seconds(std::fmod(time.value, length_.value)) : time;
  return holding(steps_, inside)->price;
}

Seconds PriceSeries::next_change(Seconds time) const {
  const Seconds turn = loop_ ? length_ * std::floor(time / length_) : Seconds(0);
  for (auto step = holding(steps_, time - turn); step != steps_.end(); ++step)
    if (turn + step->at > time) return turn + step->at;
  return loop_ ? turn + length_ : kNever;
}

Dollars PriceSeries::within(Seconds time) const {
  Dollars sum{};
  Seconds from{};
  for (std::size_t i = 0; i < steps_.size() && from < time; ++i) {
    const Seconds until = i + 1 < steps_.size() ? std::min(steps_[i + 1].at, time) : time;
    sum += steps_[i].price * (until - from);
    from = until;
  }
  return sum;
}

Dollars PriceSeries::total(Seconds time) const {
  if (!loop_) return within(time);
  const double turns = std::floor(time / length_);
  return turns * within(length_) + within(time - turns * length_);
}

Dollars PriceSeries::cost(Seconds from, Seconds until) const { return total(until) - total(from); }

Seconds Billing::billed_until(Seconds from, Seconds until) const {
  const Seconds held = std::max(until - from, minimum);
  return from + (period.value > 0 ? std::ceil(held / period) * period : held);
}

PriceSeries price_series(const Market& market, const Node& node) {
  const auto series = market.prices.find(node.group);
  return node.market == MarketKind::spot && series != market.prices.end() ? series->second : PriceSeries(node.price);
}

Dollars bill(const Market& market, const Node& node, Seconds from, Seconds until) {
  return price_series(market, node).cost(from, market.billing.billed_until(from, until));
}

}  // namespace trainyard
