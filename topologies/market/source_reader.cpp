// One source of availability, one series of prices.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "sim/config/message.hpp"
#include "topologies/market/market_reader.hpp"
#include "topologies/market/price_records.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {
namespace {

Victims victims_of(const View& source) { return source["victims"].text_or("random") == "newest" ? Victims::newest : Victims::random; }

AfterEnd after_end_of(const View& source) {
  const std::string word = source["after_end"].text_or("hold");
  return word == "loop" ? AfterEnd::loop : word == "stop" ? AfterEnd::stop : AfterEnd::hold;
}

std::string path_of(const View& file, const std::string& directory) { return (std::filesystem::path(directory) / file.text()).string(); }

std::optional<Availability> read_trace(const View& source, const MarketGroup& group, const std::string& directory, Diagnostics& diagnostics) {
  const RecordOptions options{source["format"].text_or(""), source["column"].text_or(""), source["unit"].text_or(""),
                              source["sort"].boolean_or(false), source["inverted"].boolean_or(false)};
  std::optional<Record> record = read_record(path_of(source["trace"], directory), options, source["trace"].place(), diagnostics);
  if (!record) return std::nullopt;
  *record = in_nodes(std::move(*record), group.gpus);
  if (auto* levels = std::get_if<LevelTrace>(&record->availability)) {
    levels->after_end = after_end_of(source);
    levels->victims = victims_of(source);
  } else {
    if (source["victims"]) diagnostics.add(source["victims"].place(), "the record names its nodes: it says itself who is taken");
    std::get<InstanceTrace>(record->availability).after_end = after_end_of(source);
  }
  return std::move(record->availability);
}

WeibullProcess weibull_of(const View& source) {
  return {source["up"].quantity<Seconds>(), source["down"].quantity<Seconds>(), source["up_shape"].number_or(1), source["down_shape"].number_or(1)};
}

/// The number of nodes that a key names, or nothing.
std::optional<int> level_number(const std::string& key) {
  int nodes = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), nodes);
  return error == std::errc() && end == key.data() + key.size() ? std::optional(nodes) : std::nullopt;
}

class ChainReader {
 public:
  explicit ChainReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::optional<Availability> read(const View& source) {
    const View levels = source["levels"];
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const int nodes = static_cast<int>(levels.at(i)["nodes"].integer());
      if (has_level(nodes)) fail(levels.at(i), fmt::format("the level of {} nodes stands twice", nodes));
      chain_.levels.push_back({nodes, levels.at(i)["hold"].quantity<Seconds>(), {}});
    }
    for (std::size_t i = 0; i < levels.size(); ++i) read_exits(levels.at(i)["to"], chain_.levels[i]);
    chain_.victims = victims_of(source);
    return failed_ ? std::nullopt : std::optional<Availability>(std::move(chain_));
  }

 private:
  void fail(const View& where, std::string why) {
    failed_ = true;
    diagnostics_.add(where.place(), std::move(why));
  }
  [[nodiscard]] bool has_level(int nodes) const {
    return std::any_of(chain_.levels.begin(), chain_.levels.end(), [&](const MarkovLevel& level) { return level.nodes == nodes; });
  }
  void read_exits(const View& to, MarkovLevel& level) {
    if (!to) return;
    double sum = 0;
    for (const std::string& key : to.keys()) {
      const std::optional<int> nodes = level_number(key);
      if (!nodes || !has_level(*nodes) || *nodes == level.nodes) fail(to[key], trainyard::quoted(key) + " is no other level of the chain");
      sum += to[key].number();
      level.to.emplace_back(nodes.value_or(0), to[key].number());
    }
    if (to.size() > 0 && std::abs(sum - 1) > 1e-3) fail(to, fmt::format("probabilities add up to {:g}, not to 1", sum));
  }

  Diagnostics& diagnostics_;
  MarkovProcess chain_;
  bool failed_ = false;
};

std::optional<PriceSeries> steps_of(const View& steps, Diagnostics& diagnostics) {
  std::vector<PriceStep> all;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PriceStep step{steps.at(i)["at"].quantity<Seconds>(), steps.at(i)["price"].quantity<DollarsPerSecond>()};
    if (!all.empty() && step.at <= all.back().at) return diagnostics.add(steps.at(i).place(), "not later than the price before it"), std::nullopt;
    all.push_back(step);
  }
  const Seconds last = all.back().at;
  return PriceSeries(std::move(all), last, false);
}

}  // namespace

std::optional<Availability> read_source(const View& source, const MarketGroup& group, const std::string& directory, Diagnostics& diagnostics) {
  if (source["trace"]) return read_trace(source, group, directory, diagnostics);
  const std::string process = source["process"].text();
  if (process == "markov") return ChainReader(diagnostics).read(source);
  if (process == "bursts")
    return BurstProcess{source["every"].quantity<Seconds>(), source["away"].quantity<Seconds>(), source["share"].number()};
  return weibull_of(source);
}

std::optional<PriceSeries> read_price(const View& price, const MarketGroup& group, const std::string& directory, Diagnostics& diagnostics) {
  if (price.is_scalar()) return PriceSeries(price.quantity<DollarsPerSecond>());
  if (price["steps"]) return steps_of(price["steps"], diagnostics);
  const PriceOptions options{price["format"].text(), price["instance"].text_or(""), price["product"].text_or(""),
                             price["zone"].text_or(group.zone), static_cast<int>(price["gpus"].integer_or(1)),
                             price["after_end"].text_or("hold") == "loop"};
  return read_prices(path_of(price["trace"], directory), options, price["trace"].place(), diagnostics);
}

}  // namespace trainyard
