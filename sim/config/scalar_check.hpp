// Checking one scalar against one type. Private to sim/config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/schema.hpp"

namespace trainyard {

/// What is wrong with a scalar.
struct ScalarMistake {
  std::string message;
  bool right_type = false;  ///< only its value is wrong: out of range, a wrong unit
};

/// The mistake of `value`, a scalar, as text, integer, number, boolean, quantity or choice.
[[nodiscard]] std::optional<ScalarMistake> scalar_mistake(const ConfigValue& value, const Schema& schema);

/// A whole number in base 10, or why not.
struct IntegerValue {
  std::optional<std::int64_t> value;
  std::string error;  ///< after "expected a whole number, got ..."; "" for plain text
};
[[nodiscard]] IntegerValue parse_integer(const ConfigValue& value);

/// What a schema allows, in a few words: `a whole number`, `one of a, b, c`, `a quantity such as "80 GiB"`.
[[nodiscard]] std::string expectation(const Schema& schema);

}  // namespace trainyard
