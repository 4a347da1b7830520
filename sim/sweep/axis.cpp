#include "sim/sweep/axis.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostPoints = 1'000'000;
constexpr double kStepSlack = 1e-9;  ///< 0..1..0.1 has eleven values although 0.1 is no binary number

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// At the commas that stand in no bracket, brace or quotes.
std::vector<std::string> at_commas(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (c == ',' && depth == 0 && quote == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Number and what follows it; nothing if `text` does not start with a number.
std::optional<std::pair<double, std::string>> number_and_unit(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number)) return std::nullopt;
  return std::pair(number, trimmed(end));
}

/// LO, HI and perhaps STEP of a range; empty for what is none (a path may hold two dots too).
std::vector<std::string> ends_of(const std::string& text) {
  std::vector<std::string> ends;
  std::size_t from = 0;
  for (std::size_t at = text.find(".."); at != std::string::npos; at = text.find("..", from)) {
    ends.push_back(text.substr(from, at - from));
    from = at + 2;
  }
  ends.push_back(text.substr(from));
  const bool range = (ends.size() == 2 || ends.size() == 3) && number_and_unit(ends[0]) && number_and_unit(ends[1]);
  return range ? ends : std::vector<std::string>{};
}

[[noreturn]] void refuse(const std::string& axis, const std::string& why) {
  throw UserError(fmt::format("--set {}: {}", axis, why));
}

std::vector<std::string> range_values(const std::string& axis, const std::vector<std::string>& ends) {
  const auto last = number_and_unit(ends.back());
  if (!last) refuse(axis, fmt::format("the step \"{}\" is no number", ends.back()));
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    if (!number_and_unit(ends[i])->second.empty())
      refuse(axis, "the unit of a range stands once, after its last number");
  const double low = number_and_unit(ends[0])->first, high = number_and_unit(ends[1])->first;
  const double step = ends.size() == 3 ? last->first : 1;
  if (!(step > 0)) refuse(axis, "the step of a range is more than 0");
  if (high < low) refuse(axis, fmt::format("the range {}..{} goes down", ends[0], ends[1]));
  const double count = std::floor((high - low) / step + kStepSlack) + 1;
  if (count > static_cast<double>(kMostPoints)) refuse(axis, fmt::format("more than {} values", kMostPoints));
  std::vector<std::string> values;
  const std::string unit = last->second.empty() ? "" : " " + last->second;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    values.push_back(fmt::format("{:.12g}{}", low + static_cast<double>(i) * step, unit));
  return values;
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || trimmed(text.substr(0, equals)).empty())
    refuse(text, "it is KEY=V1,V2.. or KEY=LO..HI..STEP, such as cluster.nodes.a100.count=1..4");
  SweepAxis axis{trimmed(text.substr(0, equals)), {}};
  for (const std::string& part : at_commas(text.substr(equals + 1))) {
    const std::string value = trimmed(part);
    if (value.empty()) refuse(text, "a value is empty");
    const std::vector<std::string> ends = ends_of(value);
    const std::vector<std::string> values = ends.empty() ? std::vector{value} : range_values(text, ends);
    axis.values.insert(axis.values.end(), values.begin(), values.end());
  }
  return axis;
}

std::size_t count_points(const std::vector<SweepAxis>& axes) {
  std::set<std::string> keys;
  std::size_t points = 1;
  for (const SweepAxis& axis : axes) {
    if (!keys.insert(axis.key).second) refuse(axis.key, "the key stands twice");
    if (points > kMostPoints / axis.values.size())
      throw UserError(fmt::format("the sweep has more than {} points", kMostPoints));
    points *= axis.values.size();
  }
  return points;
}

std::vector<std::pair<std::string, std::string>> settings_at(const std::vector<SweepAxis>& axes, std::size_t point) {
  std::vector<std::pair<std::string, std::string>> settings(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    settings[i] = {axes[i].key, axes[i].values[point % axes[i].values.size()]};
    point /= axes[i].values.size();
  }
  return settings;
}

}  // namespace trainyard
