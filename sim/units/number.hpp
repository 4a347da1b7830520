// Decimal numbers as people write them, read the same way everywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard {

/// The number at the start of a text. `error` says what is wrong with a number that is there; with no number `length`
/// is 0.
struct ScannedNumber {
  double value = 0.0;
  std::size_t length = 0;  ///< characters that belong to the number
  bool whole = false;      ///< digits only, perhaps with a sign
  std::string error;       ///< e.g. `write it without leading zeros`
};

/// Reads `[+-]digits[.digits][e[+-]digits]`, base 10. Refused: leading zeros, `0x`, `1_000`, `1,000`, and what a double
/// cannot hold. Words such as `nan` and `inf` are no numbers.
[[nodiscard]] ScannedNumber scan_number(std::string_view text);

}  // namespace trainyard
