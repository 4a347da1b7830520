#include "sim/scenario/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace trainyard {
namespace {

/// Where a path has led so far: a value, the schemas that may describe it, and the way there in words.
struct Cursor {
  ConfigValue* value = nullptr;
  std::vector<const Schema*> schemas;
  std::string path;
};

/// One change, for messages and for the places of created keys.
struct Change {
  const SourcePlace& place;
  Diagnostics& diagnostics;
  void refuse(std::string message) const { diagnostics.add(place, std::move(message)); }
};

/// `a.b[1].c` and `a.b.1.c` -> a, b, 1, c.
std::vector<std::string> segments_of(const std::string& path) {
  std::vector<std::string> segments{""};
  for (const char c : path) {
    if (c == '.' || c == '[')
      segments.emplace_back();
    else if (c != ']')
      segments.back() += c;
  }
  return segments;
}

void add_plain(const Schema& schema, std::vector<const Schema*>& plain) {
  if (schema.kind != Schema::Kind::one_of) return plain.push_back(&schema);
  for (const Schema& alternative : schema.of) add_plain(alternative, plain);
}

/// Schemas of the value under `key`; none when no schema knows the key.
std::vector<const Schema*> schemas_under(const std::vector<const Schema*>& schemas, const std::string& key) {
  std::vector<const Schema*> under;
  for (const Schema* schema : schemas) {
    if (schema->kind == Schema::Kind::any) under.push_back(schema);
    if (schema->kind == Schema::Kind::mapping) add_plain(schema->of.at(0), under);
    if (schema->kind != Schema::Kind::object) continue;
    for (const SchemaField& field : schema->fields)
      if (field.name == key) add_plain(field.schema, under);
  }
  return under;
}

std::vector<const Schema*> schemas_of_elements(const std::vector<const Schema*>& schemas) {
  std::vector<const Schema*> elements;
  for (const Schema* schema : schemas) {
    if (schema->kind == Schema::Kind::any) elements.push_back(schema);
    if (schema->kind == Schema::Kind::list) add_plain(schema->of.at(0), elements);
  }
  return elements;
}

std::vector<std::string> known_keys(const Cursor& cursor) {
  std::set<std::string> keys;
  for (const Schema* schema : cursor.schemas)
    for (const SchemaField& field : schema->fields) keys.insert(field.name);
  for (const auto& [key, place] : cursor.value->keys) keys.insert(key);
  return {keys.begin(), keys.end()};
}

std::vector<std::string> names_of_elements(const ConfigValue& list) {
  std::vector<std::string> names;
  for (const ConfigValue& item : list.items)
    if (const ConfigValue* name = item.find("name"); name != nullptr) names.push_back(name->scalar);
  return names;
}

std::optional<std::size_t> position_of(const ConfigValue& list, const std::string& segment) {
  for (std::size_t i = 0; i < list.items.size(); ++i)
    if (const ConfigValue* name = list.items[i].find("name"); name != nullptr && name->scalar == segment) return i;
  std::size_t position = 0;
  const char* end = segment.data() + segment.size();
  const auto [stop, error] = std::from_chars(segment.data(), end, position);
  const bool is_index = error == std::errc() && stop == end && position < list.items.size();
  return is_index ? std::optional(position) : std::nullopt;
}

bool into_list(Cursor& cursor, const std::string& segment, const Change& change) {
  ConfigValue& list = *cursor.value;
  const std::optional<std::size_t> position = position_of(list, segment);
  if (!position) {
    const auto names = names_of_elements(list);
    change.refuse(names.empty() ? fmt::format("{} has {} elements without names; there is no \"{}\"", cursor.path,
                                              list.items.size(), segment)
                                : unknown_name("element of " + cursor.path, segment, names));
    return false;
  }
  cursor.value = &list.items[*position];
  cursor.schemas = schemas_of_elements(cursor.schemas);
  return true;
}

ConfigValue& create_key(ConfigValue& map, const std::string& key, const SourcePlace& place) {
  map.kind = ConfigValue::Kind::map;
  map.keys.emplace_back(key, place);
  map.items.emplace_back().place = place;
  return map.items.back();
}

bool into_map(Cursor& cursor, const std::string& segment, const Change& change) {
  ConfigValue& map = *cursor.value;
  const auto under = schemas_under(cursor.schemas, segment);
  const auto found =
      std::find_if(map.keys.begin(), map.keys.end(), [&](const auto& key) { return key.first == segment; });
  if (found != map.keys.end()) {
    cursor.value = &map.items[static_cast<std::size_t>(found - map.keys.begin())];
  } else if (!under.empty()) {
    cursor.value = &create_key(map, segment, change.place);
  } else {
    change.refuse(unknown_name("key of " + cursor.path, segment, known_keys(cursor)));
    return false;
  }
  cursor.schemas = under;
  return true;
}

bool descend(Cursor& cursor, const std::string& segment, const Change& change) {
  if (segment.empty()) {
    change.refuse("an empty name in the path");
    return false;
  }
  const bool is_scalar = cursor.value->kind == ConfigValue::Kind::scalar;
  if (is_scalar) change.refuse(fmt::format("{} is a single value, it has no \"{}\"", cursor.path, segment));
  const bool is_list = cursor.value->kind == ConfigValue::Kind::list;
  if (is_scalar || !(is_list ? into_list(cursor, segment, change) : into_map(cursor, segment, change))) return false;
  cursor.path += (cursor.path.empty() ? "" : ".") + segment;
  return true;
}

/// Only these are kept per variant.
bool may_change(const std::string& section, const Change& change) {
  if (section == "cluster" || section == "workload" || section == "market") return true;
  change.refuse(fmt::format("a variant may change values of \"cluster\", \"workload\" and \"market\", not of \"{}\"", section));
  return false;
}

void apply(ConfigValue& root, const std::string& path, const ConfigValue& value, const Schema& schema,
           ChangeScope scope, const Change& change) {
  const std::vector<std::string> segments = segments_of(path);
  if (scope == ChangeScope::variant && !may_change(segments.front(), change)) return;
  Cursor cursor{&root, {&schema}, ""};
  for (const std::string& segment : segments)
    if (!descend(cursor, segment, change)) return;
  *cursor.value = value;
}

bool same(const Diagnostic& a, const Diagnostic& b) {
  return a.place.file == b.place.file && a.place.line == b.place.line && a.place.column == b.place.column &&
         a.place.path == b.place.path && a.message == b.message;
}

std::string named(const std::vector<std::string>& variants) {
  return fmt::format(" (variant{} \"{}\")", variants.size() > 1 ? "s" : "", fmt::join(variants, "\", \""));
}

}  // namespace

ConfigValue with_changes(ConfigValue root, const ConfigValue& changes, const Schema& root_schema, ChangeScope scope,
                         Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < changes.items.size(); ++i) {
    const auto& [path, place] = changes.keys[i];
    apply(root, path, changes.items[i], root_schema, scope, {place, diagnostics});
  }
  return root;
}

void VariantMistakes::add(const std::string& variant, const Diagnostics& mistakes) {
  ++variants_;
  for (const Diagnostic& mistake : mistakes.all()) {
    const auto equal = [&](const Diagnostic& other) { return same(mistake, other); };
    if (std::any_of(base_.all().begin(), base_.all().end(), equal)) continue;
    const auto found =
        std::find_if(shared_.begin(), shared_.end(), [&](const Shared& s) { return same(s.mistake, mistake); });
    if (found == shared_.end())
      shared_.push_back({mistake, {variant}});
    else if (found->variants.back() != variant)
      found->variants.push_back(variant);
  }
}

void VariantMistakes::move_to(Diagnostics& all) const {
  for (const Shared& shared : shared_) {
    const bool says_so = shared.variants.size() == variants_ || shared.mistake.place.path.starts_with("variants.");
    all.add(shared.mistake.place, shared.mistake.message + (says_so ? "" : named(shared.variants)));
  }
}

}  // namespace trainyard
