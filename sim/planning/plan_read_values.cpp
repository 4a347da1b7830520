// Scalars, sets and tables of a Plan's text.
#include <fmt/format.h>

#include <algorithm>

#include "sim/config/message.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/plan_keys.hpp"
#include "sim/planning/plan_reading.hpp"

namespace trainyard::plan_reading {
namespace {

using Kind = ConfigValue::Kind;

bool is_scalar(const ConfigValue& value, std::string_view wanted, Diagnostics& diagnostics) {
  if (value.kind == Kind::scalar) return true;
  add_expected(value, wanted, diagnostics);
  return false;
}

std::vector<SymbolicEntry> read_entries(const ConfigValue& value, Diagnostics& diagnostics) {
  std::vector<SymbolicEntry> entries;
  if (!is_scalar(value, "operations such as \"F0 F1 B0 B1\"", diagnostics)) return entries;
  for (std::size_t at = 0; at < value.scalar.size();) {
    const std::size_t end = std::min(value.scalar.find(' ', at), value.scalar.size());
    const std::string word = value.scalar.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (const auto entry = parse_entry(word))
      entries.push_back(*entry);
    else
      diagnostics.add(
          value.place,
          fmt::format("\"{}\" is no operation; write F3, B3, W3, O3, R3, with a chunk F3.1, with a condition "
                      "R0@F2, with a part encoder:F3",
                      word));
  }
  return entries;
}

std::vector<StreamOrder> read_stage_order(const ConfigValue& value, Diagnostics& diagnostics) {
  std::vector<StreamOrder> streams;
  if (value.kind != Kind::map) {
    add_expected(value, "one stage's streams, such as {compute: F0 B0}", diagnostics);
    return streams;
  }
  for (std::size_t i = 0; i < value.items.size(); ++i)
    streams.push_back({value.keys[i].first, read_entries(value.items[i], diagnostics)});
  return streams;
}

}  // namespace

void add_expected(const ConfigValue& value, std::string_view wanted, Diagnostics& diagnostics) {
  diagnostics.add(value.place, fmt::format("expected {}, got {}", wanted, described(value)));
}

std::optional<int> integer(const ConfigValue& value, int low, int high, Diagnostics& diagnostics) {
  if (!check(value, schema::integer(between(low, high), ""), diagnostics)) return std::nullopt;
  return static_cast<int>(View(value).integer());
}

std::optional<double> number_above_zero(const ConfigValue& value, Diagnostics& diagnostics) {
  if (!check(value, schema::number(above(0, 1e15), ""), diagnostics)) return std::nullopt;
  return View(value).number();
}

std::optional<bool> boolean(const ConfigValue& value, Diagnostics& diagnostics) {
  if (!check(value, schema::boolean(""), diagnostics)) return std::nullopt;
  return View(value).boolean();
}

std::optional<std::string> choice(const ConfigValue& value, const std::vector<std::string>& names,
                                  Diagnostics& diagnostics) {
  if (!check(value, schema::choice(names, ""), diagnostics)) return std::nullopt;
  return View(value).text();
}

std::optional<std::string> text(const ConfigValue& value, Diagnostics& diagnostics) {
  if (!is_scalar(value, "a text", diagnostics)) return std::nullopt;
  return value.scalar;
}

bool is_map_of(const ConfigValue& value, const std::vector<std::string>& known, Diagnostics& diagnostics) {
  if (value.kind != Kind::map) {
    add_expected(value, fmt::format("a map with the keys {}", fmt::join(known, ", ")), diagnostics);
    return false;
  }
  for (const auto& [key, place] : value.keys)
    if (!plan_keys::contains(known, key)) diagnostics.add(place, unknown_name("key", key, known));
  return true;
}

std::vector<const ConfigValue*> elements(const ConfigValue& value) {
  if (value.kind != Kind::list) return {&value};
  std::vector<const ConfigValue*> all;
  for (const ConfigValue& item : value.items) all.push_back(&item);
  return all;
}

bool is_list(const ConfigValue& value, std::string_view of, Diagnostics& diagnostics) {
  if (value.kind == Kind::list) return true;
  add_expected(value, fmt::format("a list of {}", of), diagnostics);
  return false;
}

Written written(const ConfigValue& value) { return {std::make_shared<const ConfigValue>(value)}; }

DeviceSet read_devices(const ConfigValue& value, Diagnostics& diagnostics) {
  constexpr std::string_view kWanted =
      "devices such as a100, a100.0-3, a100.0.0-7:2 or a100.0.cpu (GROUP[.NODES[.DEVICES]]), or a list of them";
  DeviceSet set;
  for (const ConfigValue* element : elements(value)) {
    if (!is_scalar(*element, kWanted, diagnostics)) continue;
    if (const auto piece = parse_device_piece(element->scalar))
      set.push_back(*piece);
    else
      add_expected(*element, kWanted, diagnostics);
  }
  if (value.kind == Kind::list && value.items.empty()) diagnostics.add(value.place, "no devices: the list is empty");
  return set;
}

LayerSet read_layers(const ConfigValue& value, Diagnostics& diagnostics) {
  LayerSet set;
  for (const ConfigValue* element : elements(value))
    if (is_scalar(*element, "a layer's name or a range such as 0-7", diagnostics))
      set.push_back(layer_piece(element->scalar));
  if (value.kind == Kind::list && value.items.empty()) diagnostics.add(value.place, "no layers: the list is empty");
  return set;
}

std::optional<IndexRange> read_range(const ConfigValue& value, Diagnostics& diagnostics) {
  const auto range = value.kind == Kind::scalar ? parse_index_range(value.scalar) : std::nullopt;
  if (!range) add_expected(value, "a range such as 0-7 (both ends count), or one number", diagnostics);
  return range;
}

std::optional<SymbolicOrder> read_order(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.kind != Kind::list) {
    const auto name = choice(value, schedule_names(), diagnostics);
    return name ? std::optional<SymbolicOrder>(*name) : std::nullopt;
  }
  std::vector<std::vector<StreamOrder>> table;
  for (const ConfigValue& stage : value.items) table.push_back(read_stage_order(stage, diagnostics));
  return table;
}

}  // namespace trainyard::plan_reading
