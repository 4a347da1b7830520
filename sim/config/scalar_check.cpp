#include "sim/config/scalar_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "sim/config/dimension.hpp"
#include "sim/config/message.hpp"
#include "sim/units/error.hpp"
#include "sim/units/number.hpp"

namespace trainyard {
namespace {

/// Bounds of plain numbers: as many digits as they need.
std::string plain(double x) {
  return std::abs(x) < 1e15 && x == std::trunc(x) ? fmt::format("{:.0f}", x) : fmt::format("{}", x);
}

std::string out_of_range(const std::string& found, const std::string& allowed) {
  return fmt::format("{} is out of range; allowed: {}", found, allowed);
}

std::string wrong_type(const ConfigValue& value, const Schema& schema, const std::string& reason = "") {
  return fmt::format("expected {}, got {}{}{}", expectation(schema), described(value), reason.empty() ? "" : "; ",
                     reason);
}

bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
}

std::optional<ScalarMistake> text_mistake(const ConfigValue& value) {
  if (value.scalar.empty()) return ScalarMistake{"the text is empty", true};
  if (has_control_character(value.scalar))
    return ScalarMistake{fmt::format("the text {} has a control character", quoted(value.scalar)), true};
  return std::nullopt;
}

std::optional<ScalarMistake> integer_mistake(const ConfigValue& value, const Schema& schema) {
  const IntegerValue integer = parse_integer(value);
  if (!integer.value) return ScalarMistake{wrong_type(value, schema, integer.error), !integer.error.empty()};
  if (contains(schema.range, static_cast<double>(*integer.value))) return std::nullopt;
  return ScalarMistake{out_of_range(value.scalar, range_text(schema.range, plain)), true};
}

std::optional<ScalarMistake> number_mistake(const ConfigValue& value, const Schema& schema) {
  const ScannedNumber number = scan_number(value.scalar);
  if (value.quoted || number.length == 0) return ScalarMistake{wrong_type(value, schema), false};
  if (!number.error.empty()) return ScalarMistake{wrong_type(value, schema, number.error), true};
  if (number.length != value.scalar.size()) return ScalarMistake{wrong_type(value, schema), false};
  if (contains(schema.range, number.value)) return std::nullopt;
  return ScalarMistake{out_of_range(value.scalar, range_text(schema.range, plain)), true};
}

std::optional<ScalarMistake> boolean_mistake(const ConfigValue& value, const Schema& schema) {
  if (!value.quoted && (value.scalar == "true" || value.scalar == "false")) return std::nullopt;
  return ScalarMistake{wrong_type(value, schema), false};
}

std::optional<ScalarMistake> quantity_mistake(const ConfigValue& value, const Schema& schema) {
  const bool numeric = scan_number(value.scalar).length > 0;
  if (is_number(value))
    return ScalarMistake{fmt::format("needs a unit, such as \"{}\"", example(schema.dimension, schema.range)), true};
  if (!numeric) return ScalarMistake{wrong_type(value, schema), false};
  const QuantityValue quantity = parse_quantity(schema.dimension, value.scalar);
  if (!quantity.value) return ScalarMistake{quantity.error, true};
  if (contains(schema.range, *quantity.value)) return std::nullopt;
  const auto show = [&](double bound) { return quantity_text(schema.dimension, bound); };
  return ScalarMistake{out_of_range(printable(value.scalar), range_text(schema.range, show)), true};
}

/// The key that a path ends with: `gpu` of `nodes[1].gpu`, `layers` of `layers[0]`.
std::string last_key(const std::string& path) {
  const std::string whole = path.substr(0, path.find_last_not_of("[]0123456789") + 1);
  const std::string key = whole.substr(whole.rfind('.') + 1);
  return key.empty() ? "choice" : printable(key);
}

std::optional<ScalarMistake> choice_mistake(const ConfigValue& value, const Schema& schema) {
  if (std::find(schema.choices.begin(), schema.choices.end(), value.scalar) != schema.choices.end())
    return std::nullopt;
  const bool near = !nearest(value.scalar, schema.choices).empty();
  return ScalarMistake{unknown_name(last_key(value.place.path), value.scalar, schema.choices), near};
}

}  // namespace

std::optional<ScalarMistake> scalar_mistake(const ConfigValue& value, const Schema& schema) {
  switch (schema.kind) {
    case Schema::Kind::text:
      return text_mistake(value);
    case Schema::Kind::integer:
      return integer_mistake(value, schema);
    case Schema::Kind::number:
      return number_mistake(value, schema);
    case Schema::Kind::boolean:
      return boolean_mistake(value, schema);
    case Schema::Kind::quantity:
      return quantity_mistake(value, schema);
    case Schema::Kind::choice:
      return choice_mistake(value, schema);
    default:
      throw InternalError("a scalar checked against a type that is none");
  }
}

IntegerValue parse_integer(const ConfigValue& value) {
  if (value.quoted) return {std::nullopt, ""};
  const std::string& text = value.scalar;
  const ScannedNumber number = scan_number(text);
  if (number.length == 0) return {std::nullopt, ""};
  if (!number.error.empty()) return {std::nullopt, number.error};
  if (number.length != text.size()) return {std::nullopt, ""};
  if (!number.whole) return {std::nullopt, number.value == std::trunc(number.value) ? "write out its digits" : ""};
  std::int64_t result = 0;
  const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
  const auto [end, code] = std::from_chars(begin, text.data() + text.size(), result);
  if (code != std::errc() || end != text.data() + text.size()) return {std::nullopt, "it has too many digits"};
  return {result, ""};
}

std::string expectation(const Schema& schema) {
  switch (schema.kind) {
    case Schema::Kind::any:
      return "any value";
    case Schema::Kind::text:
      return "text";
    case Schema::Kind::integer:
      return "a whole number";
    case Schema::Kind::number:
      return "a number";
    case Schema::Kind::boolean:
      return "true or false";
    case Schema::Kind::quantity:
      return fmt::format("a number with its unit, such as \"{}\"", example(schema.dimension, schema.range));
    case Schema::Kind::choice:
      return schema.choices.size() == 1 ? quoted(schema.choices[0]) : "one of " + listed(schema.choices);
    case Schema::Kind::list:
      return "a list";
    case Schema::Kind::object:
    case Schema::Kind::mapping:
      return "a map";
    case Schema::Kind::one_of:
      break;
  }
  std::vector<std::string> parts;
  for (const Schema& alternative : schema.of) {
    const std::string part = expectation(alternative);
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  return alternatives(parts);
}

}  // namespace trainyard
