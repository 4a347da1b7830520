#include "workloads/traces/trace_number.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace trainyard {

std::optional<double> number_of_word(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int> int_of(double number) {
  constexpr double kMost = std::numeric_limits<int>::max();
  if (!(number >= -kMost && number <= kMost) || number != std::floor(number)) return std::nullopt;
  return int(number);
}

std::optional<std::int64_t> name_of(double number) {
  constexpr double kMost = 9e18;
  if (!(number > -kMost && number < kMost)) return std::nullopt;
  return std::int64_t(number);
}

}  // namespace trainyard
