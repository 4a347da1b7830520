#include "workloads/length_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/units/number.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::json;

constexpr double kLongest = 1 << 24;
constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8, before the first header

struct Fields {
  std::string_view prompt, answer;
};

Fields fields_of(std::string_view format) {
  if (format == "azure") return {"ContextTokens", "GeneratedTokens"};
  if (format == "vidur") return {"num_prefill_tokens", "num_decode_tokens"};
  return {"input_length", "output_length"};
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  if (line.ends_with('\r')) line.remove_suffix(1);
  for (std::size_t from = 0;;) {
    const std::size_t end = line.find(',', from);
    cells.push_back(line.substr(from, end - from));
    if (end == std::string_view::npos) return cells;
    from = end + 1;
  }
}

/// Calls `read(line, number)` for each line that is not empty until it returns what is wrong.
template <class Read>
std::string each_line(std::string_view text, Read read) {
  int number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (const std::string wrong = read(line, number); !wrong.empty()) return fmt::format("line {}: {}", number, wrong);
  }
  return "";
}

void add(LengthTable& table, double length, double weight = 1) {
  if (length < 1) return;
  table.lengths.push_back(length);
  table.weights.push_back(weight);
}

LengthTable read_csv(std::string_view text, const std::vector<std::string>& wanted) {
  LengthTable table;
  std::vector<std::size_t> columns;
  table.problem = each_line(text, [&](std::string_view line, int) -> std::string {
    const std::vector<std::string_view> cells = cells_of(line);
    if (columns.empty()) {
      for (const std::string& name : wanted) {
        const auto found = std::ranges::find(cells, std::string_view(name));
        if (found == cells.end()) return fmt::format("no column {}", name);
        if (std::ranges::count(cells, std::string_view(name)) > 1) return fmt::format("column {} stands twice", name);
        columns.push_back(std::size_t(found - cells.begin()));
      }
      return "";
    }
    double length = 0;
    for (const std::size_t column : columns) {
      if (column >= cells.size()) return fmt::format("{} columns, not {}", cells.size(), column + 1);
      const ScannedNumber number = scan_number(cells[column]);
      if (number.length != cells[column].size() || number.value < 0 || number.value > kLongest || cells[column].empty())
        return fmt::format("\"{}\" is no count of tokens", cells[column]);
      length += number.value;
    }
    add(table, length);
    return "";
  });
  return table;
}

LengthTable read_json_lines(std::string_view text, const std::vector<std::string>& wanted) {
  LengthTable table;
  table.problem = each_line(text, [&](std::string_view line, int) -> std::string {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) return "no JSON object";
    double length = 0;
    for (const std::string& name : wanted) {
      const auto found = object.find(name);
      if (found == object.end() || !found->is_number_unsigned() || found->get<double>() > kLongest)
        return fmt::format("no count of tokens in `{}`", name);
      length += found->get<double>();
    }
    add(table, length);
    return "";
  });
  return table;
}

/// `{53: 0.00066, 123: 0.0376}`: a Python dict as text. Nothing where it is none.
std::optional<std::map<double, double>> read_probabilities(std::string_view text) {
  std::map<double, double> found;
  const auto skip = [&](std::string_view what) {
    const std::size_t at = text.find_first_not_of(' ');
    text.remove_prefix(std::min(at, text.size()));
    const bool is = text.starts_with(what);
    if (is) text.remove_prefix(what.size());
    return is;
  };
  const auto number = [&]() -> std::optional<double> {
    skip("");
    const ScannedNumber scanned = scan_number(text.substr(0, text.find_first_of(" :,}")));
    text.remove_prefix(scanned.length);
    return scanned.length > 0 && scanned.error.empty() ? std::optional(scanned.value) : std::nullopt;
  };
  if (!skip("{")) return std::nullopt;
  while (!skip("}")) {
    const std::optional<double> length = number();
    if (!length || !skip(":")) return std::nullopt;
    const std::optional<double> share = number();
    if (!share || *length < 0 || *length > kLongest || *share < 0) return std::nullopt;
    found[*length] += *share;
    if (!skip(",") && !text.starts_with("}")) return std::nullopt;
  }
  return found;
}

LengthTable read_servegen(std::string_view text, const std::string& field) {
  const Json root = Json::parse(text, nullptr, false);
  LengthTable table;
  if (!root.is_object()) return {{}, {}, "no JSON object"};
  std::map<double, double> sum;
  for (const auto& [window, fields] : root.items()) {
    const auto found = fields.is_object() ? fields.find(field) : fields.end();
    if (!fields.is_object() || found == fields.end())
      return {{}, {}, fmt::format("window {} has no `{}`", window, field)};
    const auto shares = found->is_string() ? read_probabilities(found->get<std::string>()) : std::nullopt;
    if (!shares)
      return {{}, {}, fmt::format("window {}: `{}` is no table of lengths and probabilities", window, field)};
    double all = 0;
    for (const auto& [length, share] : *shares) all += share;
    for (const auto& [length, share] : *shares) sum[length] += all > 0 ? share / all : 0;
  }
  for (const auto& [length, share] : sum) add(table, length, share);
  return table;
}

}  // namespace

LengthTable read_length_file(std::string_view text, std::string_view format, const std::string& field) {
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  const Fields usual = fields_of(format);
  const std::vector<std::string> wanted =
      field.empty() ? std::vector{std::string(usual.prompt), std::string(usual.answer)} : std::vector{field};
  LengthTable table = format == "servegen"   ? read_servegen(text, field.empty() ? "input_tokens" : field)
                      : format == "mooncake" ? read_json_lines(text, wanted)
                                             : read_csv(text, wanted);
  if (table.problem.empty() && table.lengths.empty()) table.problem = "holds no lengths";
  double all = 0;
  for (const double weight : table.weights) all += weight;
  for (double& weight : table.weights) weight /= all;
  return table;
}

}  // namespace trainyard
