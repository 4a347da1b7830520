// Records of lines: Bamboo, Parcae, SpotServe, and the table of Sailor.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/config/message.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {
namespace {

using nlohmann::json;

/// Calls `read(line, cells)` for every line that is not blank, until it says no; whether all were read.
template <class Read>
bool for_lines(const OpenRecord& file, std::size_t first, Read&& read) {
  for (std::size_t i = first; i < file.lines.size(); ++i)
    if (!file.lines.blank(i) && !read(i, file.lines.cells(i))) return false;
  return true;
}

bool refuse(const OpenRecord& file, std::size_t line, int column, std::string why) {
  file.diagnostics.add(file.lines.place(line, column), std::move(why));
  return false;
}

bool has_cells(const OpenRecord& file, std::size_t line, const std::vector<RecordCell>& cells, std::size_t wanted) {
  if (cells.size() == wanted) return true;
  return refuse(file, line, 1, fmt::format("{} cells; a line of this record has {}", cells.size(), wanted));
}

/// A number of the record, or a mistake.
bool take_number(const OpenRecord& file, std::size_t line, const RecordCell& cell, double& value) {
  const std::optional<double> number = number_in(cell.text);
  if (!number) return refuse(file, line, cell.column, fmt::format("{} is no number", quoted(cell.text)));
  value = *number;
  return true;
}

ReadRecord levels_or_nothing(const OpenRecord& file, std::vector<LevelSample> samples, const LevelRules& rules, Dialect dialect) {
  auto trace = level_trace(std::move(samples), rules, file.diagnostics);
  return trace ? ReadRecord(Record{std::move(*trace), dialect}) : std::nullopt;
}

ReadRecord instances_or_nothing(const OpenRecord& file, std::vector<InstanceSample> samples, double length, Dialect dialect) {
  if (samples.empty()) return std::nullopt;
  for (const InstanceSample& sample : samples) length = std::max(length, sample.at);
  auto trace = instance_trace(std::move(samples), file.options.sort, length, file.diagnostics);
  return trace ? ReadRecord(Record{std::move(*trace), dialect}) : std::nullopt;
}

/// The lines of Parcae and SpotServe.
class EventLines {
 public:
  explicit EventLines(const OpenRecord& file) : file_(file) {}

  ReadRecord read() {
    for (std::size_t i = 0; i < file_.lines.size(); ++i) {
      if (file_.lines.blank(i) || file_.lines.line(i).starts_with('#')) continue;
      if (!read_line(i)) return std::nullopt;
    }
    return instances_or_nothing(file_, std::move(samples_), end_, Dialect::event_lines);
  }

 private:
  bool read_line(std::size_t line) {
    if (done_) return refuse(file_, line, 1, "a line after \"DONE\"");
    try {
      const json event = json::parse(file_.lines.line(line));
      if (!event.is_array() || event.size() != 3 || !event[0].is_number() || !event[1].is_string() || !event[2].is_object())
        return refuse(file_, line, 1, "a line of this record is [milliseconds, \"add\", {\"nodes\": [..]}]");
      return apply(line, event[0].get<double>() / 1e3, event[1].get<std::string>(), event[2]);
    } catch (const json::parse_error& error) {
      return refuse(file_, line, static_cast<int>(std::max<std::size_t>(error.byte, 1)), "no JSON: the line is damaged");
    }
  }

  bool apply(std::size_t line, double at, const std::string& operation, const json& details) {
    static const std::vector<std::string> known{"add", "remove", "no-op", "migration", "DONE"};
    if (std::find(known.begin(), known.end(), operation) == known.end())
      return refuse(file_, line, 1, unknown_name("operation", operation, known));
    const json duration = details.value("duration", json(0));
    end_ = std::max(end_, at + (duration.is_number() ? duration.get<double>() / 1e3 : 0));
    done_ = operation == "DONE";
    return operation == "add" || operation == "remove" ? add_nodes(line, at, operation == "add", details.value("nodes", json())) : true;
  }

  bool add_nodes(std::size_t line, double at, bool up, const json& nodes) {
    if (!nodes.is_array()) return refuse(file_, line, 1, "\"nodes\" is no list of names");
    for (const json& node : nodes) {
      if (!node.is_string()) return refuse(file_, line, 1, "\"nodes\" is no list of names");
      samples_.push_back({at, up, node.get<std::string>(), file_.lines.place(line)});
    }
    return true;
  }

  const OpenRecord& file_;
  std::vector<InstanceSample> samples_;
  double end_ = 0;
  bool done_ = false;
};

/// Seconds of one unit of the times of pairs, or 0 where nothing says which.
double unit_of_pairs(const OpenRecord& file) {
  const std::string& unit = file.options.unit;
  if (unit == "h") return 3600;
  if (unit == "s") return 1;
  return unit == "ms" || file.options.format == "parcae" ? 1e-3 : 0;
}

/// The column of a pool in Sailor's table, or nothing.
std::optional<std::size_t> pool_column(const OpenRecord& file, const std::vector<RecordCell>& header) {
  std::vector<std::string> pools;
  for (std::size_t i = 2; i < header.size(); ++i) pools.emplace_back(header[i].text);
  const auto found = std::find(pools.begin(), pools.end(), file.options.column);
  if (found != pools.end()) return static_cast<std::size_t>(found - pools.begin()) + 2;
  if (file.options.column.empty() && pools.size() == 1) return 2;
  refuse(file, 0, 1, file.options.column.empty() ? "several pools; `column` says which: " + listed(pools)
                                                 : unknown_name("column", file.options.column, pools));
  return std::nullopt;
}

}  // namespace

ReadRecord read_instance_events(const OpenRecord& file) {
  std::vector<InstanceSample> samples;
  const bool read = for_lines(file, 0, [&](std::size_t line, const std::vector<RecordCell>& cells) {
    double at = 0;
    if (!has_cells(file, line, cells, 3) || !take_number(file, line, cells[0], at)) return false;
    if (cells[1].text != "add" && cells[1].text != "remove")
      return refuse(file, line, cells[1].column, unknown_name("operation", cells[1].text, {"add", "remove"}));
    samples.push_back({at / 1e3, cells[1].text == "add", std::string(cells[2].text), file.lines.place(line)});
    return true;
  });
  return read ? instances_or_nothing(file, std::move(samples), 0, Dialect::instance_events) : std::nullopt;
}

ReadRecord read_event_lines(const OpenRecord& file) { return EventLines(file).read(); }

ReadRecord read_poll_log(const OpenRecord& file) {
  std::vector<LevelSample> samples;
  const bool read = for_lines(file, 0, [&](std::size_t line, const std::vector<RecordCell>& cells) {
    double nodes = 0;
    if (!has_cells(file, line, cells, 3) || !take_number(file, line, cells[2], nodes)) return false;
    const auto at = instant_in(fmt::format("{} {}", cells[0].text, cells[1].text));
    if (!at) return refuse(file, line, 1, "no time such as 2021-12-10, 13:07:45");
    samples.push_back({*at, nodes, file.lines.place(line)});
    return true;
  });
  return read ? levels_or_nothing(file, std::move(samples), {file.options.sort, false, {}}, Dialect::poll_log) : std::nullopt;
}

ReadRecord read_count_table(const OpenRecord& file) {
  std::vector<LevelSample> samples;
  const bool read = for_lines(file, 1, [&](std::size_t line, const std::vector<RecordCell>& cells) {
    double nodes = 0;
    if (!has_cells(file, line, cells, 2) || !take_number(file, line, cells[1], nodes)) return false;
    const auto at = instant_in(cells[0].text);
    if (!at) return refuse(file, line, 1, fmt::format("{} is no time such as 2021-07-26T18:42:00Z", quoted(cells[0].text)));
    samples.push_back({*at, nodes, file.lines.place(line)});
    return true;
  });
  return read ? levels_or_nothing(file, std::move(samples), {file.options.sort, false, {}}, Dialect::count_table) : std::nullopt;
}

ReadRecord read_pairs(const OpenRecord& file) {
  const double unit = unit_of_pairs(file);
  if (unit == 0) {
    refuse(file, 0, 1, "pairs of time and nodes do not say in what their times are: give `unit: s`, `ms` or `h`");
    return std::nullopt;
  }
  std::vector<LevelSample> samples;
  const bool read = for_lines(file, 0, [&](std::size_t line, const std::vector<RecordCell>& cells) {
    double at = 0, nodes = 0;
    if (!has_cells(file, line, cells, 2) || !take_number(file, line, cells[0], at) || !take_number(file, line, cells[1], nodes)) return false;
    samples.push_back({at * unit, nodes, file.lines.place(line)});
    return true;
  });
  if (!read || samples.empty()) return std::nullopt;
  const double length = samples.back().at - samples.front().at;
  return levels_or_nothing(file, std::move(samples), {file.options.sort, true, file.options.sort ? std::nullopt : std::optional(length)},
                           Dialect::pairs);
}

ReadRecord read_sailor_table(const OpenRecord& file) {
  const std::vector<RecordCell> header = file.lines.cells(0);
  const auto column = pool_column(file, header);
  if (!column) return std::nullopt;
  std::vector<LevelSample> samples;
  const bool read = for_lines(file, 1, [&](std::size_t line, const std::vector<RecordCell>& cells) {
    double at = 0, gpus = 0;
    if (!has_cells(file, line, cells, header.size()) || !take_number(file, line, cells[1], at) || !take_number(file, line, cells[*column], gpus))
      return false;
    samples.push_back({at, gpus, file.lines.place(line, cells[*column].column)});
    return true;
  });
  if (!read) return std::nullopt;
  ReadRecord record = levels_or_nothing(file, std::move(samples), {file.options.sort, false, {}}, Dialect::sailor_table);
  if (record) record->counts_gpus = true;
  return record;
}

}  // namespace trainyard
