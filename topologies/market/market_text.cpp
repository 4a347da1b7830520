// A market as people read it, and a record as scenario YAML.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "sim/units/error.hpp"
#include "sim/units/text.hpp"
#include "topologies/market.hpp"
#include "topologies/market/fit.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {
namespace {

std::string figures_text(const RecordFigures& figures) {
  const std::string rate = figures.node_hours > 0 ? fmt::format("{:.3g} a node-hour", figures.lost / figures.node_hours) : "no node-hours";
  return fmt::format("{}; {:.4g} nodes on average, at most {}; {} lost in {} events, {}; {} joined", to_text(figures.length), figures.mean_nodes,
                     figures.most_nodes, figures.lost, figures.loss_events, rate, figures.gained);
}

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

std::string chain_yaml(const MarkovProcess& chain) {
  std::string text = "    process: markov\n    levels:\n";
  for (const MarkovLevel& level : chain.levels) {
    std::string to;
    for (const auto& [nodes, share] : level.to) to += fmt::format("{}{}: {:.6g}", to.empty() ? "" : ", ", nodes, share);
    const std::string hold = fmt::format("{:.6g} s", std::max(level.hold.value, 1.0));
    text += fmt::format("      - {{nodes: {}, hold: {}{}}}\n", level.nodes, hold, to.empty() ? "" : ", to: {" + to + "}");
  }
  return text;
}

std::string exponential_line(const RecordFigures& figures) {
  const WeibullProcess process = fitted_exponential(figures);
  if (!std::isfinite(process.up.value) || !std::isfinite(process.down.value)) return "";
  return fmt::format("# Each node on its own, of as many losses: {{process: exponential, up: {:.4g} h, down: {:.4g} h}}\n", process.up.value / 3600,
                     process.down.value / 3600);
}

std::string options_yaml(const SpotImport& options) {
  std::string text = options.format.empty() ? "" : ", format: " + options.format;
  if (!options.column.empty()) text += ", column: " + options.column;
  if (!options.unit.empty()) text += ", unit: " + options.unit;
  return text + (options.sort ? ", sort: true" : "") + (options.inverted ? ", inverted: true" : "");
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

std::string import_spot(const std::string& file, const SpotImport& options) {
  Diagnostics diagnostics;
  const RecordOptions how{options.format, options.column, options.unit, options.sort, options.inverted};
  const std::optional<Record> record = read_record(file, how, SourcePlace{}, diagnostics);
  diagnostics.throw_if_any();
  const RecordFigures figures = figures_of(record->availability);
  std::string text = fmt::format("# Imported from {} (spot: {}).\n# {}\n", std::filesystem::path(file).filename().string(), description(record->dialect),
                                 figures_text(figures));
  if (record->counts_gpus) text += "# It counts GPUs: \"nodes\" above and below are nodes of one GPU.\n";
  if (!options.fit) return text + fmt::format("market:\n  availability: {{trace: {}{}}}\n", file, options_yaml(options));
  text += "# Fitted by maximum likelihood: mean time of a visit to each number of nodes, and shares of what followed.\n";
  return text + exponential_line(figures) + "market:\n  availability:\n" + chain_yaml(fitted_chain(levels_of(record->availability)));
}

}  // namespace trainyard
