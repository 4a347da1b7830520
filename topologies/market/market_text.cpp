// A market as people read it.
#include <fmt/format.h>

#include <algorithm>

#include "sim/units/text.hpp"
#include "topologies/market.hpp"
#include "topologies/market/fit.hpp"

namespace trainyard {
namespace {

std::string_view after_end_text(AfterEnd after_end) {
  if (after_end == AfterEnd::loop) return "then again";
  return after_end == AfterEnd::stop ? "the job ends with it" : "then its last state";
}

struct SourceText {
  std::string operator()(const LevelTrace& trace) const {
    return fmt::format("a record of {}, {}, victims {}", figures_text(figures_of(trace)), after_end_text(trace.after_end),
                       trace.victims == Victims::random ? "drawn" : "the newest");
  }
  std::string operator()(const InstanceTrace& trace) const {
    return fmt::format("a record of {}, {}", figures_text(figures_of(trace)), after_end_text(trace.after_end));
  }
  std::string operator()(const WeibullProcess& process) const {
    const bool exponential = process.up_shape == 1 && process.down_shape == 1;
    return fmt::format("each node on its own, up for {}, away for {}{}", to_text(process.up), to_text(process.down),
                       exponential ? "" : fmt::format(", Weibull shapes {:g} and {:g}", process.up_shape, process.down_shape));
  }
  std::string operator()(const BurstProcess& process) const {
    return fmt::format("each zone loses {:.3g} % of its nodes every {}, for {}", 100 * process.share, to_text(process.every), to_text(process.away));
  }
  std::string operator()(const MarkovProcess& process) const {
    return fmt::format("a Markov chain of {} levels, from {} nodes on", process.levels.size(), process.levels.front().nodes);
  }
};

std::string price_text(const PriceSeries& series) {
  DollarsPerSecond least = series.steps().front().price, most = least;
  for (const PriceStep& step : series.steps()) least = std::min(least, step.price), most = std::max(most, step.price);
  return least == most ? to_text(least) : fmt::format("{} to {}, {} prices", to_text(least), to_text(most), series.steps().size());
}

std::string store_text(const Store& store) {
  const std::string each = store.per_node.value > 0 ? fmt::format(", {} a node", to_text(store.per_node)) : "";
  return store.exists() ? fmt::format("store: {}{}\n", to_text(store.bandwidth), each) : "";
}

}  // namespace

std::string market_text(const Market& market, const Cluster& cluster) {
  std::string text;
  for (const auto& [group, source] : market.availability) text += fmt::format("{}: {}\n", group, std::visit(SourceText{}, source));
  for (const auto& [group, series] : market.prices) text += fmt::format("{}: {}\n", group, price_text(series));
  for (const auto& [group, failures] : market.failures)
    text += fmt::format("{}: a node fails every {}, another one after {} ({})\n", group, to_text(failures.every), to_text(failures.repair), failures.source);
  for (const Node& node : cluster.nodes) {
    const auto notice = market.notice.find(node.group);
    if (notice == market.notice.end() || (&node != cluster.nodes.data() && (&node - 1)->group == node.group)) continue;
    text += fmt::format("{}: {} of notice\n", node.group, to_text(notice->second));
  }
  return text + store_text(market.store);
}

}  // namespace trainyard
