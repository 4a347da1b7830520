#include "sim/config/schema.hpp"

#include <utility>

namespace trainyard::schema {
namespace {

Schema of_kind(Schema::Kind kind, std::string help) {
  Schema result;
  result.kind = kind;
  result.help = std::move(help);
  return result;
}

}  // namespace

Schema any(std::string help) { return of_kind(Schema::Kind::any, std::move(help)); }

Schema text(std::string help) { return of_kind(Schema::Kind::text, std::move(help)); }

Schema boolean(std::string help) { return of_kind(Schema::Kind::boolean, std::move(help)); }

Schema integer(Range range, std::string help) {
  Schema result = of_kind(Schema::Kind::integer, std::move(help));
  result.range = range;
  return result;
}

Schema number(Range range, std::string help) {
  Schema result = of_kind(Schema::Kind::number, std::move(help));
  result.range = range;
  return result;
}

Schema quantity(Dimension dimension, Range range, std::string help) {
  Schema result = of_kind(Schema::Kind::quantity, std::move(help));
  result.dimension = dimension;
  result.range = range;
  return result;
}

Schema choice(std::vector<std::string> names, std::string help) {
  Schema result = of_kind(Schema::Kind::choice, std::move(help));
  result.choices = std::move(names);
  return result;
}

Schema list(Schema element, Range count, std::string help) {
  Schema result = of_kind(Schema::Kind::list, std::move(help));
  result.range = count;
  result.of.push_back(std::move(element));
  return result;
}

Schema object(std::vector<SchemaField> fields, std::string help) {
  Schema result = of_kind(Schema::Kind::object, std::move(help));
  result.fields = std::move(fields);
  return result;
}

Schema mapping(std::string key_name, Schema value, std::string help) {
  Schema result = of_kind(Schema::Kind::mapping, std::move(help));
  result.key_name = std::move(key_name);
  result.of.push_back(std::move(value));
  return result;
}

Schema one_of(std::vector<Schema> alternatives, std::string help) {
  Schema result = of_kind(Schema::Kind::one_of, std::move(help));
  result.of = std::move(alternatives);
  return result;
}

SchemaField required(std::string name, Schema schema) { return {std::move(name), std::move(schema), true, ""}; }

SchemaField optional(std::string name, Schema schema, std::string fallback) {
  return {std::move(name), std::move(schema), false, std::move(fallback)};
}

}  // namespace trainyard::schema
