// Words of a trace as numbers: the whole word or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

/// A finite number that is all of the word ("1e-3", "-5", "12"); nothing for "", "12 ms", "inf".
[[nodiscard]] std::optional<double> number_of_word(std::string_view word);

/// A whole number of a double that an int holds, else nothing.
[[nodiscard]] std::optional<int> int_of(double number);

/// A number that names something (a stream, a correlation), cut to its whole part; nothing beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> name_of(double number);

}  // namespace trainyard
