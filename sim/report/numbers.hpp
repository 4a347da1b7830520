// Numbers as people read them on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// Three significant digits, thousands separated: 61,200 · 34.2 · 0.523. What is not finite becomes "?".
[[nodiscard]] std::string three_digits(double value);
/// Whole number, thousands separated: 4,096.
[[nodiscard]] std::string whole(double value);
/// Fixed decimals, thousands separated: 1,114.50.
[[nodiscard]] std::string with_decimals(double value, int decimals);
/// A fraction with one decimal: 0.061 -> "6.1 %".
[[nodiscard]] std::string percent(double fraction);
/// 4.1e9 -> "4.1 billion", for parameters.
[[nodiscard]] std::string count_in_words(double value);

/// Columns that UTF-8 text takes on a terminal: one a code point (nothing wider is printed here).
[[nodiscard]] std::size_t width_of(std::string_view text);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);

}  // namespace trainyard
