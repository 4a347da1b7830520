// A sweep on a terminal: one line a record, only the columns that say something.
#include <algorithm>
#include <array>
#include <functional>

#include "sim/report/numbers.hpp"
#include "sim/report/record.hpp"
#include "sim/report/result_text.hpp"
#include "sim/report/wrapping.hpp"
#include "sim/units/quantity.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestReason = 500;

struct Column {
  std::string title;
  bool left = true;
  std::vector<std::string> cells;
};

/// Its first line, as a cell shows it.
std::string text_at(const Json& record, const char* key, std::size_t longest = 60) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_string()) return "";
  std::string text = found->get<std::string>();
  text.erase(std::min(text.size(), text.find('\n')));
  return one_row(text, longest);
}

template <class Format>
std::string number_at(const Json& record, const char* key, Format format) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number() ? format(found->get<double>()) : "";
}

bool all_equal(const Column& column) {
  return std::adjacent_find(column.cells.begin(), column.cells.end(), std::not_equal_to<>()) == column.cells.end();
}

std::string memory_of(const Json& record) {
  const std::string peak =
      number_at(record, "peak_memory_bytes", [](double bytes) { return three_digits(bytes / 1e9); });
  if (peak.empty()) return "";
  return peak + " / " +
         number_at(record, "memory_capacity_bytes", [](double bytes) { return three_digits(bytes / 1e9); }) + " GB";
}

bool is_text(std::string_view title) {
  return title.empty() || title == "variant" || title == "strategy" || title == "recovery";
}

std::vector<Column> columns_of(const std::vector<SavedRecord>& records) {
  std::vector<Column> columns;
  for (const auto& [key, value] : records.front().settings) columns.push_back({key, true, {}});
  const std::size_t first = columns.size();
  for (const char* title :
       {"variant", "strategy", "recovery", "tokens/s", "samples/s", "MFU", "step", "goodput", "memory", "USD", "USD/M tokens", ""})
    columns.push_back({title, is_text(title), {}});
  for (const SavedRecord& saved : records) {
    const Json record = Json::parse(saved.record);
    for (std::size_t i = 0; i < first; ++i) columns[i].cells.push_back(one_row(saved.settings[i].second));
    const std::array cells{text_at(record, "variant"),
                           text_at(record, "strategy"),
                           text_at(record, "recovery"),
                           number_at(record, "tokens_per_s", three_digits),
                           number_at(record, "samples_per_s", three_digits),
                           number_at(record, "mfu", percent),
                           number_at(record, "step_time_s", [](double seconds) { return to_text(Seconds{seconds}); }),
                           number_at(record, "goodput_tokens_per_s", three_digits),
                           memory_of(record),
                           number_at(record, "usd_total", three_digits),
                           number_at(record, "usd_per_million_tokens", three_digits),
                           text_at(record, "reason", kLongestReason)};
    for (std::size_t i = 0; i < cells.size(); ++i) columns[first + i].cells.push_back(cells[i]);
  }
  return columns;
}

/// Tokens say more than samples where both are there; what is the same in every line says nothing.
std::vector<Column> telling(std::vector<Column> columns) {
  const auto has = [&](const char* title) {
    return std::any_of(columns.begin(), columns.end(), [&](const Column& column) {
      return column.title == title && !(all_equal(column) && column.cells.front().empty());
    });
  };
  const bool tokens = has("tokens/s");
  std::erase_if(columns, [&](const Column& column) {
    if (column.title == "samples/s" && tokens) return true;
    if (is_text(column.title) && !column.title.empty()) return all_equal(column);
    return all_equal(column) && column.cells.front().empty();
  });
  return columns;
}

}  // namespace

std::string to_table(const std::vector<SavedRecord>& records) {
  if (records.empty()) return "";
  const std::vector<Column> columns = telling(columns_of(records));
  std::string text;
  for (std::size_t line = 0; line <= records.size(); ++line) {
    std::string row;
    for (const Column& column : columns) {
      std::size_t width = width_of(column.title);
      for (const std::string& cell : column.cells) width = std::max(width, width_of(cell));
      const std::string& cell = line == 0 ? column.title : column.cells[line - 1];
      row += "  " + (column.left ? pad_right(cell, width) : pad_left(cell, width));
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace trainyard
