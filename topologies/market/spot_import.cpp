#include "topologies/spot_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "topologies/market/fit.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {
namespace {

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

std::vector<std::string> availability_format_names() { return availability_formats(); }

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
