#include "topologies/market/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/config/message.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/text_file.hpp"

namespace trainyard {
namespace {

struct DialectInfo {
  Dialect dialect;
  std::string_view description;
  ReadRecord (*read)(const OpenRecord&);
};

constexpr std::array kDialects{
    DialectInfo{Dialect::instance_events, "lines of milliseconds,add|remove,node", read_instance_events},
    DialectInfo{Dialect::event_lines, "lines of [milliseconds, \"add\", {\"nodes\": [..]}]", read_event_lines},
    DialectInfo{Dialect::poll_log, "lines of date, time, nodes", read_poll_log},
    DialectInfo{Dialect::count_table, "a table of time,count", read_count_table},
    DialectInfo{Dialect::pairs, "pairs of time,nodes", read_pairs},
    DialectInfo{Dialect::skypilot, "SkyPilot's {\"metadata\": .., \"data\": [..]}", read_skypilot},
    DialectInfo{Dialect::sailor_list, "Sailor's list of {\"Time\": .., \"GPUs\": ..}", read_sailor_list},
    DialectInfo{Dialect::sailor_table, "Sailor's table of ,Timestamp,POOL,..", read_sailor_table},
    DialectInfo{Dialect::tenplex, "Tenplex's list of {\"time\": .., \"size\": ..}", read_tenplex}};

const DialectInfo& info_of(Dialect dialect) { return kDialects[static_cast<std::size_t>(dialect)]; }

/// The dialects of each format.
const std::map<std::string, std::vector<Dialect>>& formats() {
  static const std::map<std::string, std::vector<Dialect>> all{
      {"bamboo", {Dialect::instance_events, Dialect::poll_log, Dialect::count_table, Dialect::pairs}},
      {"skypilot", {Dialect::skypilot}},
      {"parcae", {Dialect::event_lines, Dialect::pairs}},
      {"spotserve", {Dialect::event_lines, Dialect::instance_events}},
      {"sailor", {Dialect::sailor_list, Dialect::sailor_table}},
      {"tenplex", {Dialect::tenplex}}};
  return all;
}

std::size_t first_line(const RecordText& lines) {
  std::size_t line = 0;
  while (line < lines.size() && (lines.blank(line) || lines.line(line).starts_with('#'))) ++line;
  return line;
}

std::optional<Dialect> dialect_of_json(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n#");
  const std::size_t next = text.find_first_not_of(" \t\r\n", begin + 1);
  if (text[begin] == '{') return text.find("\"data\"") != std::string::npos ? std::optional(Dialect::skypilot) : std::nullopt;
  if (next != std::string::npos && (text[next] == '-' || std::isdigit(static_cast<unsigned char>(text[next])) != 0)) return Dialect::event_lines;
  if (text.find("\"GPUs\"") != std::string::npos) return Dialect::sailor_list;
  return text.find("\"size\"") != std::string::npos ? std::optional(Dialect::tenplex) : std::nullopt;
}

std::optional<Dialect> dialect_of_cells(const std::vector<RecordCell>& cells) {
  const auto is = [&](std::size_t i, std::string_view text) { return cells[i].text == text; };
  if (cells.size() >= 3 && is(0, "") && is(1, "Timestamp")) return Dialect::sailor_table;
  if (cells.size() == 3 && instant_in(std::string(cells[0].text) + " " + std::string(cells[1].text))) return Dialect::poll_log;
  if (cells.size() == 3 && number_in(cells[0].text)) return Dialect::instance_events;
  if (cells.size() == 2 && (is(0, "time") || is(0, "timestamp")) && is(1, "count")) return Dialect::count_table;
  if (cells.size() == 2 && number_in(cells[0].text) && number_in(cells[1].text)) return Dialect::pairs;
  return std::nullopt;
}

/// What the file looks like; nothing: like no record.
std::optional<Dialect> dialect_of(const std::string& text, const RecordText& lines) {
  const std::size_t first = first_line(lines);
  if (first == lines.size()) return std::nullopt;
  const std::string_view line = lines.line(first);
  const char begin = line[line.find_first_not_of(" \t\r")];
  return begin == '{' || begin == '[' ? dialect_of_json(text) : dialect_of_cells(lines.cells(first));
}

std::string no_record(const RecordText& lines) {
  if (first_line(lines) == lines.size()) return "holds no record";
  std::vector<std::string> known;
  for (const DialectInfo& info : kDialects) known.emplace_back(info.description);
  return "is no record of nodes; known: " + fmt::format("{}", fmt::join(known, "; "));
}

/// The dialect that the file is to be read in, or a mistake.
std::optional<Dialect> chosen_dialect(const OpenRecord& file) {
  const std::size_t first = first_line(file.lines);
  const auto refuse = [&](std::string why) {
    file.diagnostics.add(file.lines.place(first < file.lines.size() ? first : 0), std::move(why));
  };
  const std::optional<Dialect> found = dialect_of(file.text, file.lines);
  if (!found) return refuse(no_record(file.lines)), std::nullopt;
  if (file.options.format.empty()) return found;
  const std::vector<Dialect>& allowed = formats().at(file.options.format);
  if (std::find(allowed.begin(), allowed.end(), *found) != allowed.end()) return found;
  refuse(fmt::format("{}: not the format {}", info_of(*found).description, file.options.format));
  return std::nullopt;
}

}  // namespace

std::string_view description(Dialect dialect) { return info_of(dialect).description; }

std::vector<std::string> availability_formats() {
  std::vector<std::string> names;
  for (const auto& [name, dialects] : formats()) names.push_back(name);
  return names;
}

std::optional<Record> read_record(const std::string& path, const RecordOptions& options, const SourcePlace& asked, Diagnostics& diagnostics) {
  TextFile read = read_text_file(path);
  if (!read.error.empty()) {
    diagnostics.add(asked, fmt::format("{}: {}", path, read.error));
    return std::nullopt;
  }
  const OpenRecord file{path, read.text, RecordText(path, read.text), options, diagnostics};
  const std::optional<Dialect> dialect = chosen_dialect(file);
  if (!dialect) return std::nullopt;
  const std::size_t before = diagnostics.all().size();
  std::optional<Record> record = info_of(*dialect).read(file);
  if (!record && diagnostics.all().size() == before) diagnostics.add(file.lines.place(0), "holds no record");
  return record;
}

}  // namespace trainyard
