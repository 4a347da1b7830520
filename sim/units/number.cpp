#include "sim/units/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace trainyard {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_digit_at(std::string_view text, std::size_t at) { return at < text.size() && is_digit(text[at]); }

bool starts_number(std::string_view digits) {
  return is_digit_at(digits, 0) || (!digits.empty() && digits[0] == '.' && is_digit_at(digits, 1));
}

/// What follows the digits and shows that another notation was meant.
std::string foreign_notation(std::string_view digits, std::size_t end) {
  if (digits[0] == '0' && is_digit_at(digits, 1)) return "write it without leading zeros";
  if (end == 1 && digits[0] == '0' && end < digits.size() && (digits[end] == 'x' || digits[end] == 'X'))
    return "write it in base 10";
  if (end < digits.size() && (digits[end] == '_' || digits[end] == ',' || digits[end] == '\''))
    return fmt::format("write the number without \"{}\"", digits[end]);
  return "";
}

}  // namespace

ScannedNumber scan_number(std::string_view text) {
  ScannedNumber result;
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::string_view digits = text.substr(sign);
  if (!starts_number(digits)) return result;
  double magnitude = 0.0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  const auto length = static_cast<std::size_t>(end - digits.data());
  result.value = sign == 1 && text[0] == '-' ? -magnitude : magnitude;
  result.length = sign + length;
  result.whole = std::all_of(digits.data(), end, is_digit);
  result.error = foreign_notation(digits, length);
  if (result.error.empty() && code == std::errc::result_out_of_range)
    result.error = "a number this large or this near to zero cannot be held";
  return result;
}

}  // namespace trainyard
