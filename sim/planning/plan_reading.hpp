// The pieces of read_plan. Private to sim/planning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/model/symbolic_plan.hpp"

namespace trainyard::plan_reading {

/// `expected WANTED, got` and what stands there.
void add_expected(const ConfigValue& value, std::string_view wanted, Diagnostics& diagnostics);

// Scalars: nothing, and a line in `diagnostics`, unless the value is one.
std::optional<int> integer(const ConfigValue& value, int low, int high, Diagnostics& diagnostics);
std::optional<double> number_above_zero(const ConfigValue& value, Diagnostics& diagnostics);
std::optional<bool> boolean(const ConfigValue& value, Diagnostics& diagnostics);
std::optional<std::string> choice(const ConfigValue& value, const std::vector<std::string>& names,
                                  Diagnostics& diagnostics);
std::optional<std::string> text(const ConfigValue& value, Diagnostics& diagnostics);

template <class E>
std::optional<E> word_of(const ConfigValue& value, Diagnostics& diagnostics) {
  const auto name = choice(value, word_list<E>(), diagnostics);
  return name ? from_word<E>(*name) : std::nullopt;
}

/// Largest count that a Plan may give.
inline constexpr int kMost = 100'000'000;

/// False, with a line, unless the value is a map with no other keys than `known`.
bool is_map_of(const ConfigValue& value, const std::vector<std::string>& known, Diagnostics& diagnostics);
/// The elements of a list; a scalar stands for a list of itself.
std::vector<const ConfigValue*> elements(const ConfigValue& value);
/// False, with a line, unless the value is a list.
bool is_list(const ConfigValue& value, std::string_view of, Diagnostics& diagnostics);
Written written(const ConfigValue& value);

DeviceSet read_devices(const ConfigValue& value, Diagnostics& diagnostics);
LayerSet read_layers(const ConfigValue& value, Diagnostics& diagnostics);
std::optional<IndexRange> read_range(const ConfigValue& value, Diagnostics& diagnostics);
/// The settings among the keys of a map; other keys are left alone.
SymbolicSettings read_settings(const ConfigValue& map, Diagnostics& diagnostics);
/// `devices`, `rules` and settings.
Scope read_scope(const ConfigValue& map, Diagnostics& diagnostics);
std::optional<SymbolicOrder> read_order(const ConfigValue& value, Diagnostics& diagnostics);
ShortForm read_short_form(const ConfigValue& map, Diagnostics& diagnostics);

}  // namespace trainyard::plan_reading
