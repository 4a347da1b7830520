#include <algorithm>
#include <map>
#include <utility>

#include "sim/report/record.hpp"
#include "sim/report/result_text.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;
using Columns = std::vector<std::pair<std::string, std::string>>;  // key, value

/// RFC 4180: quotes around what holds a comma, a quote or a line break; quotes inside are doubled.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string compact(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string joined(const Json& list) {
  std::string text;
  for (const Json& item : list)
    text.append(text.empty() ? "" : "; ").append(item.is_string() ? item.get<std::string>() : compact(item));
  return text;
}

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return joined(value);
  return compact(value);
}

void flatten(const Json& object, const std::string& prefix, Columns& columns) {
  for (const auto& [key, value] : object.items()) {
    if (key == "timeline" || key == "critical_path" || key == "sensitivity" || key == "rejected" || key == "ranks" || key == "against") continue;  // tables of their own: in JSON
    if (value.is_object() && key != "plan")
      flatten(value, prefix + key + ".", columns);
    else
      columns.emplace_back(prefix + key, cell(value));
  }
}

/// "" where there is no such column.
std::string value_in(const Columns& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &std::pair<std::string, std::string>::first);
  return found != columns.end() ? found->second : "";
}

template <class Pick>
std::string row(const Columns& columns, Pick pick) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) line.append(i == 0 ? "" : ",").append(quoted(pick(columns[i])));
  return line + "\r\n";
}

}  // namespace

std::string to_csv(const std::vector<SavedRecord>& records) {
  std::vector<Columns> rows;
  Columns names;  // of all, each where it stands first
  std::map<std::string, std::size_t> known;
  for (const SavedRecord& saved : records) {
    rows.emplace_back(saved.settings.begin(), saved.settings.end());
    flatten(Json::parse(saved.record), "", rows.back());
    for (const auto& [name, value] : rows.back())
      if (known.try_emplace(name, names.size()).second) names.emplace_back(name, "");
  }
  if (names.empty()) return "";
  std::string text = row(names, [](const auto& column) { return column.first; });
  for (const Columns& columns : rows) {
    Columns whole = names;
    for (const auto& [name, value] : columns) whole[known.at(name)].second = value;
    text += row(whole, [](const auto& column) { return column.second; });
  }
  return text;
}

std::string to_csv(const std::vector<CaseResult>& results, const ResultHead& head) {
  Columns names;
  const bool over_horizon = any_over_horizon(results);
  CaseResult empty;
  if (std::ranges::any_of(results, [](const CaseResult& result) { return result.replay.has_value(); })) empty.replay.emplace();
  flatten(to_record(empty, head.timings, over_horizon), "", names);
  std::string text = row(names, [](const auto& column) { return column.first; });
  for (const CaseResult& result : results) {
    Columns columns, whole = names;
    flatten(to_record(result, head.timings, over_horizon), "", columns);
    for (auto& [name, value] : whole) value = value_in(columns, name);
    text += row(whole, [](const auto& column) { return column.second; });
  }
  return text;
}

}  // namespace trainyard
