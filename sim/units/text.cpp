#include "sim/units/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "sim/units/number.hpp"
#include "sim/units/unit_table.hpp"

namespace trainyard {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

const Unit* find_unit(const UnitTable& table, std::string_view name) {
  const auto found =
      std::find_if(table.units.begin(), table.units.end(), [&](const Unit& unit) { return unit.name == name; });
  return found == table.units.end() ? nullptr : &*found;
}

std::vector<std::string> names(const UnitTable& table) {
  std::vector<std::string> result;
  for (const Unit& unit : table.units) result.emplace_back(unit.name);
  return result;
}

/// A word of the input, printable and short enough for a message.
std::string shown(std::string_view word) {
  constexpr std::size_t kLongest = 40;
  std::string result;
  for (const char c : word.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  while (word.size() > kLongest && !result.empty() && (static_cast<unsigned char>(result.back()) & 0xc0) == 0x80)
    result.pop_back();
  return word.size() > kLongest ? result + "..." : result;
}

std::string wrong_unit(std::string_view word, const UnitTable& table) {
  const std::string known = fmt::format("known: {}", fmt::join(names(table), ", "));
  for (const UnitTable& other : all_unit_tables())
    if (find_unit(other, word) != nullptr) {
      const std::string_view meant = nearest_unit(word, table);
      return fmt::format("\"{}\" is a unit of {}, not of {}; {}{}", word, other.measures, table.measures,
                         meant.empty() ? "" : fmt::format("did you mean \"{}\"? ", meant), known);
    }
  const std::string_view meant = nearest_unit(word, table);
  if (meant.empty()) return fmt::format("unknown unit \"{}\"; {}", shown(word), known);
  return fmt::format("unknown unit \"{}\"; did you mean \"{}\"? {}", shown(word), meant, known);
}

/// The value in base units, or the error.
struct ParsedValue {
  double value = 0.0;
  std::string error;
};

ParsedValue parse(std::string_view raw, const UnitTable& table) {
  const std::string_view text = trimmed(raw);
  const ScannedNumber number = scan_number(text);
  if (number.length == 0)
    return {0.0, fmt::format("expected a number with its unit, such as \"{}\", got {}", table.example,
                             text.empty() ? "nothing" : fmt::format("\"{}\"", shown(text)))};
  if (!number.error.empty()) return {0.0, fmt::format("cannot read \"{}\": {}", shown(text), number.error)};
  const std::string_view word = trimmed(text.substr(number.length));
  if (word.empty()) return {0.0, fmt::format("needs a unit, such as \"{}\"", table.example)};
  const Unit* unit = find_unit(table, word);
  if (unit == nullptr) return {0.0, wrong_unit(word, table)};
  const double value = number.value * unit->multiply / unit->divide;
  if (!std::isfinite(value)) return {0.0, fmt::format("cannot read \"{}\": the number is too large", shown(text))};
  return {value, ""};
}

template <class Q>
Parsed<Q> parsed(std::string_view text) {
  ParsedValue result = parse(text, unit_table<Q>());
  if (!result.error.empty()) return {std::nullopt, std::move(result.error)};
  return {Q(result.value), ""};
}

/// One step of a scale: from `from` base units on, values are shown in `unit`.
struct Step {
  double from;
  double multiply;  ///< shown number = value * multiply / divide
  double divide;
  std::string_view unit;
};

/// Three significant digits, without an exponent where a reader does not need one.
std::string three_digits(double x) {
  const double magnitude = std::abs(x);
  if (!std::isfinite(x) || magnitude < 999.5 || magnitude >= 1e6) return fmt::format("{:.3g}", x);
  const double grain = std::pow(10.0, std::floor(std::log10(magnitude)) - 2.0);
  return fmt::format("{:.0f}", std::round(x / grain) * grain);
}

/// Steps ascend. A value that would round up to the next step is shown there: 999.9 us is "1 ms".
std::string scaled(double value, std::span<const Step> steps) {
  constexpr double kRoundsUp = 0.9995;
  const Step* best = &steps.front();
  if (value == 0.0 || !std::isfinite(value)) {
    const auto base = std::find_if(steps.begin(), steps.end(), [](const Step& s) { return s.multiply == s.divide; });
    best = &*base;
  } else {
    for (const Step& step : steps)
      if (std::abs(value) >= step.from * kRoundsUp) best = &step;
  }
  return fmt::format("{} {}", three_digits(value == 0.0 ? 0.0 : value * best->multiply / best->divide), best->unit);
}

/// Two decimals, or three significant digits where two decimals would lose some of them.
std::string money(double dollars, std::string_view unit) {
  const std::string two_decimals = fmt::format("{:.2f}", dollars);
  const bool loses = std::abs(dollars) < 1.0 && std::stod(two_decimals) != std::stod(fmt::format("{:.3g}", dollars));
  return fmt::format("{} {}", loses ? fmt::format("{:.3g}", dollars) : two_decimals, unit);
}

constexpr Step kSecondSteps[] = {{0.0, 1e9, 1, "ns"},      {1e-6, 1e6, 1, "us"},  {1e-3, 1e3, 1, "ms"},
                                 {1.0, 1, 1, "s"},         {120.0, 1, 60, "min"}, {7200.0, 1, 3600, "h"},
                                 {172800.0, 1, 86400, "d"}};
constexpr Step kByteSteps[] = {{0.0, 1, 1, "B"},    {1e3, 1, 1e3, "kB"},   {1e6, 1, 1e6, "MB"},
                               {1e9, 1, 1e9, "GB"}, {1e12, 1, 1e12, "TB"}, {1e15, 1, 1e15, "PB"}};
constexpr Step kFlopSteps[] = {{0.0, 1, 1, "FLOP"},      {1e3, 1, 1e3, "kFLOP"},   {1e6, 1, 1e6, "MFLOP"},
                               {1e9, 1, 1e9, "GFLOP"},   {1e12, 1, 1e12, "TFLOP"}, {1e15, 1, 1e15, "PFLOP"},
                               {1e18, 1, 1e18, "EFLOP"}, {1e21, 1, 1e21, "ZFLOP"}};
constexpr Step kByteRateSteps[] = {{0.0, 1, 1, "B/s"},    {1e3, 1, 1e3, "kB/s"},   {1e6, 1, 1e6, "MB/s"},
                                   {1e9, 1, 1e9, "GB/s"}, {1e12, 1, 1e12, "TB/s"}, {1e15, 1, 1e15, "PB/s"}};
constexpr Step kFlopRateSteps[] = {{0.0, 1, 1, "FLOPS"},     {1e3, 1, 1e3, "kFLOPS"},   {1e6, 1, 1e6, "MFLOPS"},
                                   {1e9, 1, 1e9, "GFLOPS"},  {1e12, 1, 1e12, "TFLOPS"}, {1e15, 1, 1e15, "PFLOPS"},
                                   {1e18, 1, 1e18, "EFLOPS"}};

}  // namespace

template <>
Parsed<Seconds> parse_quantity<Seconds>(std::string_view text) {
  return parsed<Seconds>(text);
}
template <>
Parsed<Bytes> parse_quantity<Bytes>(std::string_view text) {
  return parsed<Bytes>(text);
}
template <>
Parsed<Flops> parse_quantity<Flops>(std::string_view text) {
  return parsed<Flops>(text);
}
template <>
Parsed<BytesPerSecond> parse_quantity<BytesPerSecond>(std::string_view text) {
  return parsed<BytesPerSecond>(text);
}
template <>
Parsed<FlopsPerSecond> parse_quantity<FlopsPerSecond>(std::string_view text) {
  return parsed<FlopsPerSecond>(text);
}
template <>
Parsed<Dollars> parse_quantity<Dollars>(std::string_view text) {
  return parsed<Dollars>(text);
}
template <>
Parsed<DollarsPerSecond> parse_quantity<DollarsPerSecond>(std::string_view text) {
  return parsed<DollarsPerSecond>(text);
}
template <>
Parsed<DollarsPerByte> parse_quantity<DollarsPerByte>(std::string_view text) {
  return parsed<DollarsPerByte>(text);
}

template <>
std::vector<std::string> unit_names<Seconds>() {
  return names(unit_table<Seconds>());
}
template <>
std::vector<std::string> unit_names<Bytes>() {
  return names(unit_table<Bytes>());
}
template <>
std::vector<std::string> unit_names<Flops>() {
  return names(unit_table<Flops>());
}
template <>
std::vector<std::string> unit_names<BytesPerSecond>() {
  return names(unit_table<BytesPerSecond>());
}
template <>
std::vector<std::string> unit_names<FlopsPerSecond>() {
  return names(unit_table<FlopsPerSecond>());
}
template <>
std::vector<std::string> unit_names<Dollars>() {
  return names(unit_table<Dollars>());
}
template <>
std::vector<std::string> unit_names<DollarsPerSecond>() {
  return names(unit_table<DollarsPerSecond>());
}
template <>
std::vector<std::string> unit_names<DollarsPerByte>() {
  return names(unit_table<DollarsPerByte>());
}

std::string to_text(Seconds q) { return scaled(q.value, kSecondSteps); }
std::string to_text(Bytes q) { return scaled(q.value, kByteSteps); }
std::string to_text(Flops q) { return scaled(q.value, kFlopSteps); }
std::string to_text(BytesPerSecond q) { return scaled(q.value, kByteRateSteps); }
std::string to_text(FlopsPerSecond q) { return scaled(q.value, kFlopRateSteps); }
std::string to_text(Dollars q) { return money(q.value, "USD"); }
std::string to_text(DollarsPerSecond q) { return money(in_dollars_per_hour(q), "USD/h"); }
std::string to_text(DollarsPerByte q) { return money(q.value * 1e9, "USD/GB"); }

}  // namespace trainyard
