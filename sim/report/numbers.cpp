#include "sim/report/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

std::string separated(std::string digits) {
  const std::size_t start = digits.starts_with('-') ? 1 : 0;
  const std::size_t end = std::min(digits.find('.'), digits.size());
  for (std::size_t at = end; at > start + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "?";
  if (value == 0) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  const double rounded = std::round(value / unit) * unit;
  // Rounding may carry into the next power of ten, which then has a digit less after the point.
  const int decimals = static_cast<int>(2 - std::floor(std::log10(std::abs(rounded) * (1 + 1e-12))));
  return separated(fmt::format("{:.{}f}", rounded, std::max(decimals, 0)));
}

std::string whole(double value) { return with_decimals(value, 0); }

std::string with_decimals(double value, int decimals) {
  return std::isfinite(value) ? separated(fmt::format("{:.{}f}", value, decimals)) : "?";
}

std::string percent(double fraction) { return with_decimals(fraction * 100, 1) + " %"; }

std::string count_in_words(double value) {
  if (value >= 1e12) return three_digits(value / 1e12) + " trillion";
  if (value >= 1e9) return three_digits(value / 1e9) + " billion";
  if (value >= 1e6) return three_digits(value / 1e6) + " million";
  return whole(value);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t own = width_of(text);
  return std::string(own < width ? width - own : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t own = width_of(text);
  return std::string(text) + std::string(own < width ? width - own : 0, ' ');
}

}  // namespace trainyard
