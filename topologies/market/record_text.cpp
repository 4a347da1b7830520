#include "topologies/market/record_text.hpp"

#include <charconv>
#include <chrono>
#include <cmath>

namespace trainyard {
namespace {

constexpr std::string_view kBlanks = " \t\r";

RecordCell trimmed(std::string_view line, std::size_t begin, std::size_t end) {
  while (begin < end && kBlanks.find(line[begin]) != std::string_view::npos) ++begin;
  while (end > begin && kBlanks.find(line[end - 1]) != std::string_view::npos) --end;
  if (end - begin >= 2 && line[begin] == '"' && line[end - 1] == '"') ++begin, --end;
  return {line.substr(begin, end - begin), static_cast<int>(begin) + 1};
}

/// Takes a whole number of `digits` digits off the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char mark) {
  if (text.empty() || text.front() != mark) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<double> seconds_of_day(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return 86400.0 * double(std::chrono::sys_days(date).time_since_epoch().count());
}

std::optional<double> take_date(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  return day ? seconds_of_day(*year, *month, *day) : std::nullopt;
}

std::optional<double> take_clock(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return 3600.0 * *hour + 60.0 * *minute + *second;
}

}  // namespace

RecordText::RecordText(const std::string& name, const std::string& text) {
  auto file = std::make_shared<SourceFile>();
  file->name = name;
  std::string_view left(text);
  if (left.starts_with("\xEF\xBB\xBF")) left.remove_prefix(3);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    std::string_view line = left.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    file->lines.emplace_back(line);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  file_ = std::move(file);
}

bool RecordText::blank(std::size_t i) const { return line(i).find_first_not_of(kBlanks) == std::string_view::npos; }

std::vector<RecordCell> RecordText::cells(std::size_t i) const {
  const std::string_view text = line(i);
  std::vector<RecordCell> cells;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '"') quoted = !quoted;
    if (at < text.size() && (quoted || text[at] != ',')) continue;
    cells.push_back(trimmed(text, begin, at));
    begin = at + 1;
  }
  return cells;
}

SourcePlace RecordText::place(std::size_t i, int column) const { return {file_, static_cast<int>(i) + 1, column, ""}; }

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

std::optional<double> instant_in(std::string_view text) {
  const auto date = take_date(text);
  if (!date || (!take(text, 'T') && !take(text, ' '))) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  const std::size_t digits = std::min(text.find_first_not_of(".0123456789"), text.size());
  const auto fraction = digits > 0 ? number_in(text.substr(0, digits)) : std::optional(0.0);
  text.remove_prefix(digits);
  if (!fraction || *fraction >= 1 || !(text.empty() || text == "Z")) return std::nullopt;
  return *date + *clock + *fraction;
}

std::optional<double> day_in(std::string_view text) {
  const std::size_t first = text.find('/');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto month = number_in(text.substr(0, first)), day = number_in(text.substr(first + 1, second - first - 1));
  const auto year = number_in(text.substr(second + 1));
  if (!month || !day || !year || *month < 1 || *month > 12 || *day < 1 || *day > 31 || *year < 1970 || *year > 9999) return std::nullopt;
  return seconds_of_day(static_cast<int>(*year), static_cast<int>(*month), static_cast<int>(*day));
}

}  // namespace trainyard
