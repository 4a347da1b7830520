// What a value of the input may be, said once: it checks a document, prints as JSON Schema, and documents options.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"

namespace trainyard {

/// Bounds of a number or quantity in SI units, inclusive; with `above_low` the lower bound itself is refused.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;
};
constexpr Range between(double low, double high) { return {low, high, false}; }
constexpr Range above(double low, double high) { return {low, high, true}; }

enum class Dimension {
  seconds,
  bytes,
  flops,
  bytes_per_second,
  flops_per_second,
  dollars,
  dollars_per_second,
  dollars_per_byte
};

struct SchemaField;

/// One type of value. Build it with the functions of namespace `schema`.
struct Schema {
  enum class Kind { any, text, integer, number, boolean, quantity, choice, list, object, mapping, one_of };
  Kind kind = Kind::any;
  std::string help;  ///< one line
  Range range;       ///< integer, number, quantity; list: number of elements
  Dimension dimension = Dimension::seconds;
  std::vector<std::string> choices;
  std::vector<SchemaField> fields;  ///< object
  std::vector<Schema> of;           ///< list: the element; mapping: the value; one_of: the alternatives
  std::string key_name;             ///< mapping: what a key is, e.g. "variant"
};

/// One key of an object.
struct SchemaField {
  std::string name;
  Schema schema;
  bool required = false;
  std::string fallback;  ///< the default as text, for documentation; "" = absent
};

namespace schema {
[[nodiscard]] Schema any(std::string help);
[[nodiscard]] Schema text(std::string help);
[[nodiscard]] Schema boolean(std::string help);
[[nodiscard]] Schema integer(Range range, std::string help);
[[nodiscard]] Schema number(Range range, std::string help);
[[nodiscard]] Schema quantity(Dimension dimension, Range range, std::string help);
[[nodiscard]] Schema choice(std::vector<std::string> names, std::string help);
[[nodiscard]] Schema list(Schema element, Range count, std::string help);
[[nodiscard]] Schema object(std::vector<SchemaField> fields, std::string help);
/// A map whose keys are free names.
[[nodiscard]] Schema mapping(std::string key_name, Schema value, std::string help);
/// The first alternative that accepts the value. When none does, the mistakes shown are those of the alternative of
/// that YAML kind (scalar, list, map) which comes nearest; scalars of several types get a list of what is allowed.
[[nodiscard]] Schema one_of(std::vector<Schema> alternatives, std::string help);
[[nodiscard]] SchemaField required(std::string name, Schema schema);
[[nodiscard]] SchemaField optional(std::string name, Schema schema, std::string fallback = "");
}  // namespace schema

/// Adds every mistake of `value`: wrong type, missing or unknown key (with the nearest known one), a bare number where
/// a unit is needed, `010`, `yes` for a boolean, a value out of range. Returns whether there was none.
bool check(const ConfigValue& value, const Schema& schema, Diagnostics& diagnostics);

/// The JSON Schema (draft 2020-12) of a document, as text with two spaces of indentation.
[[nodiscard]] std::string to_json_schema(const Schema& schema, std::string_view title);

/// `no X "name"; did you mean "nearest"?` or, with nothing near, `no X "name"; known: a, b, c` (cut at 12 names).
[[nodiscard]] std::string unknown_name(std::string_view what, std::string_view name,
                                       const std::vector<std::string>& known);

}  // namespace trainyard
