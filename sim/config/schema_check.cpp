#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/config/dimension.hpp"
#include "sim/config/message.hpp"
#include "sim/config/scalar_check.hpp"
#include "sim/config/schema.hpp"

namespace trainyard {
namespace {

void check_value(const ConfigValue& value, const Schema& schema, Diagnostics& found);

std::vector<std::string> field_names(const Schema& object) {
  std::vector<std::string> names;
  for (const SchemaField& field : object.fields) names.push_back(field.name);
  return names;
}

std::string unknown_key(const std::string& key, const std::vector<std::string>& known) {
  const std::string meant = nearest(key, known);
  if (!meant.empty()) return fmt::format("unknown key {}; did you mean \"{}\"?", quoted(key), meant);
  if (known.empty()) return fmt::format("unknown key {}; no key is allowed here", quoted(key));
  return fmt::format("unknown key {}; known: {}", quoted(key), listed(known));
}

const SchemaField* find_field(const Schema& object, const std::string& name) {
  const auto found = std::find_if(object.fields.begin(), object.fields.end(),
                                  [&](const SchemaField& field) { return field.name == name; });
  return found == object.fields.end() ? nullptr : &*found;
}

void check_object(const ConfigValue& map, const Schema& schema, Diagnostics& found) {
  for (const SchemaField& field : schema.fields)
    if (field.required && map.find(field.name) == nullptr)
      found.add(map.place,
                fmt::format("the key \"{}\" is missing; expected {}", field.name, expectation(field.schema)));
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const auto& [key, place] = map.keys[i];
    const SchemaField* field = find_field(schema, key);
    if (field == nullptr)
      found.add(place, unknown_key(key, field_names(schema)));
    else
      check_value(map.items[i], field->schema, found);
  }
}

void check_mapping(const ConfigValue& map, const Schema& schema, Diagnostics& found) {
  for (const ConfigValue& item : map.items) check_value(item, schema.of.at(0), found);
}

void check_list(const ConfigValue& list, const Schema& schema, Diagnostics& found) {
  if (!contains(schema.range, static_cast<double>(list.items.size()))) {
    const auto show = [](double bound) { return fmt::format("{:.0f}", bound); };
    found.add(list.place,
              fmt::format("has {} elements; allowed: {}", list.items.size(), range_text(schema.range, show)));
  }
  for (const ConfigValue& item : list.items) check_value(item, schema.of.at(0), found);
}

/// A value of the wrong YAML kind.
std::string wrong_kind(const ConfigValue& value, const Schema& schema) {
  const std::string message = fmt::format("expected {}, got {}", expectation(schema), described(value));
  const bool like_a_pair =
      value.kind == ConfigValue::Kind::scalar && !value.quoted && value.scalar.find(':') != std::string::npos;
  return like_a_pair ? message + "; a key needs a space after its \":\"" : message;
}

/// The alternatives that stand for a value of this YAML kind; those of a one_of within count as its own.
void collect_fitting(const ConfigValue& value, const Schema& schema, std::vector<const Schema*>& fitting) {
  using Kind = Schema::Kind;
  if (schema.kind == Kind::one_of) {
    for (const Schema& alternative : schema.of) collect_fitting(value, alternative, fitting);
    return;
  }
  const bool wants_map = schema.kind == Kind::object || schema.kind == Kind::mapping;
  const bool wants_list = schema.kind == Kind::list;
  bool fits = schema.kind == Kind::any;
  if (value.kind == ConfigValue::Kind::map) fits = fits || wants_map;
  if (value.kind == ConfigValue::Kind::list) fits = fits || wants_list;
  if (value.kind == ConfigValue::Kind::scalar) fits = fits || (!wants_map && !wants_list);
  if (fits) fitting.push_back(&schema);
}

/// Why none of several scalar types accepts the value: the complaint of the only one whose type is right, or else what
/// is allowed.
std::string no_scalar_fits(const ConfigValue& value, const Schema& schema, const std::vector<const Schema*>& fitting) {
  std::vector<std::string> near;
  for (const Schema* alternative : fitting) {
    const auto mistake = scalar_mistake(value, *alternative);
    if (mistake && mistake->right_type) near.push_back(mistake->message);
  }
  if (near.size() == 1) return near.front();
  return fmt::format("expected {}, got {}", expectation(schema), described(value));
}

/// Mistakes of the alternative that has the fewest; the first of equals. A wrong key counts like a wrong value.
void check_nearest(const ConfigValue& value, const std::vector<const Schema*>& fitting, Diagnostics& found) {
  std::optional<Diagnostics> fewest;
  for (const Schema* alternative : fitting) {
    Diagnostics trial;
    check_value(value, *alternative, trial);
    if (!fewest || trial.all().size() < fewest->all().size()) fewest = std::move(trial);
    if (fewest->empty()) return;
  }
  for (const Diagnostic& mistake : fewest->all()) found.add(mistake.place, mistake.message);
}

void check_one_of(const ConfigValue& value, const Schema& schema, Diagnostics& found) {
  std::vector<const Schema*> fitting;
  collect_fitting(value, schema, fitting);
  if (fitting.empty()) return found.add(value.place, wrong_kind(value, schema));
  if (value.kind != ConfigValue::Kind::scalar || fitting.size() == 1) return check_nearest(value, fitting, found);
  const bool accepted = std::any_of(fitting.begin(), fitting.end(), [&](const Schema* alternative) {
    return alternative->kind == Schema::Kind::any || !scalar_mistake(value, *alternative);
  });
  if (!accepted) found.add(value.place, no_scalar_fits(value, schema, fitting));
}

std::string nothing_there(const ConfigValue& value, const Schema& schema) {
  const bool whole_document = value.place.path.empty();
  if (!whole_document) return fmt::format("has no value; expected {}", expectation(schema));
  const std::vector<std::string> keys = field_names(schema);
  return keys.empty() ? fmt::format("is empty; expected {}", expectation(schema))
                      : fmt::format("is empty; expected a map with keys such as {}", listed(keys));
}

void check_value(const ConfigValue& value, const Schema& schema, Diagnostics& found) {
  using Kind = Schema::Kind;
  if (schema.kind == Kind::any) return;
  if (value.kind == ConfigValue::Kind::null) return found.add(value.place, nothing_there(value, schema));
  if (schema.kind == Kind::one_of) return check_one_of(value, schema, found);
  std::vector<const Schema*> fitting;
  collect_fitting(value, schema, fitting);
  if (fitting.empty()) return found.add(value.place, wrong_kind(value, schema));
  if (schema.kind == Kind::object) return check_object(value, schema, found);
  if (schema.kind == Kind::mapping) return check_mapping(value, schema, found);
  if (schema.kind == Kind::list) return check_list(value, schema, found);
  if (const auto mistake = scalar_mistake(value, schema)) found.add(value.place, mistake->message);
}

}  // namespace

bool check(const ConfigValue& value, const Schema& schema, Diagnostics& diagnostics) {
  // A document that could not be read has had its complaint.
  const bool unread = value.kind == ConfigValue::Kind::null && value.place.path.empty() && !diagnostics.empty();
  if (unread) return false;
  const std::size_t before = diagnostics.all().size();
  check_value(value, schema, diagnostics);
  return diagnostics.all().size() == before;
}

}  // namespace trainyard
