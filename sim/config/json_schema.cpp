#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/config/dimension.hpp"
#include "sim/config/message.hpp"
#include "sim/config/schema.hpp"
#include "sim/units/number.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Json schema_json(const Schema& schema);

/// Whole numbers without a decimal point.
Json number_json(double x) {
  if (std::abs(x) < 9e15 && x == std::trunc(x)) return static_cast<std::int64_t>(x);
  return x;
}

/// A plain scalar as the JSON value that YAML readers make of it.
Json scalar_json(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const ScannedNumber number = scan_number(text);
  const bool is_number = number.length == text.size() && number.length > 0 && number.error.empty();
  return is_number ? number_json(number.value) : Json(text);
}

void add_bounds(Json& json, const Range& range, const char* low, const char* high) {
  if (std::isfinite(range.low)) json[low] = number_json(range.low);
  if (std::isfinite(range.high)) json[high] = number_json(range.high);
}

std::string escaped(const std::string& unit) {
  std::string result;
  for (const char c : unit) result += (c == '/' || c == '$') ? std::string("\\") + c : std::string(1, c);
  return result;
}

/// The numbers that scan_number reads, then a unit.
std::string quantity_pattern(Dimension dimension) {
  std::vector<std::string> units;
  for (const std::string& unit : unit_names(dimension)) units.push_back(escaped(unit));
  return fmt::format(R"(^\s*[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\s*({})\s*$)",
                     fmt::join(units, "|"));
}

void add_number(Json& json, const Schema& schema, const char* type) {
  json["type"] = type;
  add_bounds(json, schema.range, schema.range.above_low ? "exclusiveMinimum" : "minimum", "maximum");
}

void add_quantity(Json& json, const Schema& schema) {
  json["type"] = "string";
  json["pattern"] = quantity_pattern(schema.dimension);
  json["examples"] = Json::array({example(schema.dimension, schema.range)});
}

/// A choice that YAML reads as a number or boolean may be written so.
void add_choices(Json& json, const Schema& schema) {
  json["enum"] = Json::array();
  for (const std::string& name : schema.choices) {
    json["enum"].push_back(name);
    if (const Json plain = scalar_json(name); !plain.is_string()) json["enum"].push_back(plain);
  }
}

void add_list(Json& json, const Schema& schema) {
  json["type"] = "array";
  json["items"] = schema_json(schema.of.at(0));
  Range count = schema.range;
  if (count.above_low) count.low = std::floor(count.low) + 1;
  if (count.low <= 0) count.low = -std::numeric_limits<double>::infinity();
  add_bounds(json, count, "minItems", "maxItems");
}

void add_object(Json& json, const Schema& schema) {
  json["type"] = "object";
  json["properties"] = Json::object();
  Json required = Json::array();
  for (const SchemaField& field : schema.fields) {
    Json property = schema_json(field.schema);
    if (!field.fallback.empty()) property["default"] = scalar_json(field.fallback);
    json["properties"][field.name] = std::move(property);
    if (field.required) required.push_back(field.name);
  }
  if (!required.empty()) json["required"] = std::move(required);
  json["additionalProperties"] = false;
}

void add_mapping(Json& json, const Schema& schema) {
  json["type"] = "object";
  if (!schema.key_name.empty()) json["propertyNames"] = {{"description", schema.key_name}, {"minLength", 1}};
  json["additionalProperties"] = schema_json(schema.of.at(0));
}

void add_alternatives(Json& json, const Schema& schema) {
  json["anyOf"] = Json::array();
  for (const Schema& alternative : schema.of) json["anyOf"].push_back(schema_json(alternative));
}

Json schema_json(const Schema& schema) {
  Json json = Json::object();
  if (!schema.help.empty()) json["description"] = schema.help;
  switch (schema.kind) {
    case Schema::Kind::any:
      break;
    case Schema::Kind::text:
      json["type"] = {"string", "number", "boolean"};
      break;
    case Schema::Kind::integer:
      add_number(json, schema, "integer");
      break;
    case Schema::Kind::number:
      add_number(json, schema, "number");
      break;
    case Schema::Kind::boolean:
      json["type"] = "boolean";
      break;
    case Schema::Kind::quantity:
      add_quantity(json, schema);
      break;
    case Schema::Kind::choice:
      add_choices(json, schema);
      break;
    case Schema::Kind::list:
      add_list(json, schema);
      break;
    case Schema::Kind::object:
      add_object(json, schema);
      break;
    case Schema::Kind::mapping:
      add_mapping(json, schema);
      break;
    case Schema::Kind::one_of:
      add_alternatives(json, schema);
      break;
  }
  return json;
}

}  // namespace

std::string to_json_schema(const Schema& schema, std::string_view title) {
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  json.update(schema_json(schema));
  return json.dump(2) + "\n";
}

}  // namespace trainyard
