// The settings of a Plan (marked in the table of the README), rules, and the short form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/plan_keys.hpp"
#include "sim/planning/plan_reading.hpp"

namespace trainyard::plan_reading {
namespace {

using Kind = ConfigValue::Kind;
constexpr int kMostItems = 1'000'000;

std::vector<double> read_shares(const ConfigValue& value, Diagnostics& diagnostics) {
  std::vector<double> shares;
  if (value.kind == Kind::list) {
    for (const ConfigValue& item : value.items)
      if (const auto share = number_above_zero(item, diagnostics)) shares.push_back(*share);
    if (value.items.empty()) diagnostics.add(value.place, "an axis has at least one member");
    return shares;
  }
  constexpr int kLargestAxis = 1'000'000;
  if (const auto size = integer(value, 1, kLargestAxis, diagnostics))
    shares.assign(static_cast<std::size_t>(*size), 1.0);
  return shares;
}

std::optional<SymbolicLayout> read_layout(const ConfigValue& value, Diagnostics& diagnostics) {
  constexpr std::string_view kWanted = "axes such as [data: 2, tensor: 8], outermost first";
  if (value.kind != Kind::list) {
    add_expected(value, kWanted, diagnostics);
    return std::nullopt;
  }
  SymbolicLayout layout;
  for (const ConfigValue& item : value.items) {
    if (item.kind != Kind::map || item.items.size() != 1) {
      add_expected(item, kWanted, diagnostics);
      continue;
    }
    const std::string& name = item.keys[0].first;
    if (!from_word<AxisKind>(name))
      diagnostics.add(item.keys[0].second, unknown_name("axis", name, word_list<AxisKind>()));
    layout.push_back({name, read_shares(item.items[0], diagnostics)});
  }
  return layout;
}

std::optional<Recompute> read_recompute(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.kind != Kind::map) {
    const auto kind = word_of<RecomputeKind>(value, diagnostics);
    return kind ? std::optional(Recompute{*kind, 1}) : std::nullopt;
  }
  if (!is_map_of(value, {"every"}, diagnostics)) return std::nullopt;
  const ConfigValue* every = value.find("every");
  const auto layers = every ? integer(*every, 1, kMost, diagnostics) : std::nullopt;
  return layers ? std::optional(Recompute{RecomputeKind::every, *layers}) : std::nullopt;
}

void read_place(const ConfigValue& value, SymbolicHome& home, Diagnostics& diagnostics) {
  const auto word = value.kind == Kind::scalar ? from_word<Place>(value.scalar) : std::nullopt;
  home.place = word.value_or(Place::devices);
  if (!word) home.at = read_devices(value, diagnostics);
}

SymbolicHome read_home(const ConfigValue& value, Diagnostics& diagnostics) {
  SymbolicHome home;
  if (value.kind != Kind::map) {
    read_place(value, home, diagnostics);
    return home;
  }
  is_map_of(value, {"at", "buffers", "sliced"}, diagnostics);
  if (const ConfigValue* at = value.find("at")) read_place(*at, home, diagnostics);
  if (const ConfigValue* buffers = value.find("buffers"))
    home.buffers = integer(*buffers, 1, kMost, diagnostics).value_or(0);
  if (const ConfigValue* sliced = value.find("sliced")) home.sliced = boolean(*sliced, diagnostics).value_or(false);
  return home;
}

std::map<State, SymbolicHome> read_homes(const ConfigValue& value, Diagnostics& diagnostics) {
  std::map<State, SymbolicHome> homes;
  if (!is_map_of(value, word_list<State>(), diagnostics)) return homes;
  for (std::size_t i = 0; i < value.items.size(); ++i)
    if (const auto state = from_word<State>(value.keys[i].first))
      homes[*state] = read_home(value.items[i], diagnostics);
  return homes;
}

std::optional<Bytes> read_bucket(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.kind == Kind::scalar && value.scalar == "layer") return Bytes(0);
  if (!check(value, schema::quantity(Dimension::bytes, above(0, 1e15), ""), diagnostics)) return std::nullopt;
  return View(value).quantity<Bytes>();
}

std::optional<Sync> read_sync(const ConfigValue& value, Diagnostics& diagnostics) {
  if (!is_map_of(value, {"what", "every", "lag", "bucket"}, diagnostics)) return std::nullopt;
  Sync sync;
  if (const ConfigValue* what = value.find("what"))
    sync.what = word_of<SyncWhat>(*what, diagnostics).value_or(SyncWhat::gradients);
  if (const ConfigValue* every = value.find("every")) sync.every = integer(*every, 1, kMost, diagnostics).value_or(1);
  if (const ConfigValue* lag = value.find("lag")) {
    const bool any = lag->kind == Kind::scalar && lag->scalar == "any";
    sync.lag = any ? std::nullopt : integer(*lag, 0, kMost, diagnostics);
  }
  if (const ConfigValue* bucket = value.find("bucket")) sync.bucket = read_bucket(*bucket, diagnostics);
  return sync;
}

const std::vector<std::string>& data_type_names() {
  static const std::vector<std::string> names{"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"};
  return names;
}

std::vector<std::string> wire_keys() {
  std::vector<std::string> keys = word_list<State>();
  keys.insert(keys.end(), {"transport", "share", "all_reduce", "all_gather"});
  return keys;
}

/// One of `allowed`, as a Plan writes it.
Algorithm read_algorithm(const ConfigValue& value, std::initializer_list<Algorithm> allowed, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const Algorithm algorithm : allowed) names.emplace_back(word(algorithm));
  const auto name = choice(value, names, diagnostics);
  return name ? *from_word<Algorithm>(*name) : Algorithm::automatic;
}

std::optional<Wire> read_wire(const ConfigValue& value, Diagnostics& diagnostics) {
  if (!is_map_of(value, wire_keys(), diagnostics)) return std::nullopt;
  Wire wire;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const ConfigValue& item = value.items[i];
    const std::string& key = value.keys[i].first;
    if (const auto state = from_word<State>(key)) {
      if (const auto type = choice(item, data_type_names(), diagnostics)) wire.types[*state] = *data_type_from(*type);
    } else if (key == "transport") {
      wire.transport = text(item, diagnostics).value_or("");
    } else if (key == "share") {
      if (check(item, schema::number(above(0, 1), ""), diagnostics)) wire.share = View(item).number();
    } else if (key == "all_reduce") {
      wire.all_reduce = read_algorithm(
          item, {Algorithm::automatic, Algorithm::ring, Algorithm::tree, Algorithm::hierarchical, Algorithm::in_network, Algorithm::sharded_ps},
          diagnostics);
    } else if (key == "all_gather") {
      wire.all_gather = read_algorithm(item, {Algorithm::automatic, Algorithm::padded, Algorithm::grouped}, diagnostics);
    }
  }
  return wire;
}

std::optional<Slices> read_slices(const ConfigValue& value, Diagnostics& diagnostics) {
  if (!is_map_of(value, {"rows", "columns"}, diagnostics)) return std::nullopt;
  Slices slices;
  if (const ConfigValue* rows = value.find("rows")) slices.rows = integer(*rows, 1, kMost, diagnostics).value_or(1);
  if (const ConfigValue* columns = value.find("columns"))
    slices.columns = integer(*columns, 1, kMost, diagnostics).value_or(1);
  return slices;
}

std::map<Traffic, std::string> read_streams(const ConfigValue& value, Diagnostics& diagnostics) {
  std::map<Traffic, std::string> streams;
  if (!is_map_of(value, word_list<Traffic>(), diagnostics)) return streams;
  for (std::size_t i = 0; i < value.items.size(); ++i)
    if (const auto traffic = from_word<Traffic>(value.keys[i].first))
      if (const auto stream = text(value.items[i], diagnostics)) streams[*traffic] = *stream;
  return streams;
}

std::vector<ItemSet> read_owners(const ConfigValue& value, Diagnostics& diagnostics) {
  std::vector<ItemSet> owners;
  if (!is_list(value, "item sets, one a member, such as [0-3, 4-7]", diagnostics)) return owners;
  for (const ConfigValue& member : value.items) {
    ItemSet items;
    for (const ConfigValue* piece : elements(member)) {
      const auto range = read_range(*piece, diagnostics);
      if (range && range->last > kMostItems)
        diagnostics.add(piece->place, fmt::format("item {} is above {}", range->last, kMostItems));
      else if (range)
        items.push_back(*range);
    }
    owners.push_back(items);
  }
  return owners;
}

void read_plain_setting(const std::string& key, const ConfigValue& value, Settings& settings,
                        Diagnostics& diagnostics) {
  if (key == "zero") settings.zero = integer(value, 0, 3, diagnostics);
  if (key == "regather") settings.regather = boolean(value, diagnostics);
  if (key == "sequence_parallel") settings.sequence_parallel = boolean(value, diagnostics);
  if (key == "redundant_forward") settings.redundant_forward = boolean(value, diagnostics);
  if (key == "recompute") settings.recompute = read_recompute(value, diagnostics);
  if (key == "update") settings.update = word_of<Update>(value, diagnostics);
  if (key == "sync") settings.sync = read_sync(value, diagnostics);
  if (key == "wire") settings.wire = read_wire(value, diagnostics);
  if (key == "slices") settings.slices = read_slices(value, diagnostics);
  if (key == "streams") settings.streams = read_streams(value, diagnostics);
  if (key == "context_kind") settings.context_kind = word_of<ContextKind>(value, diagnostics);
}

SymbolicRule read_rule(const ConfigValue& value, Diagnostics& diagnostics) {
  SymbolicRule rule;
  std::vector<std::string> known{"layers", "ops", "devices"};
  known.insert(known.end(), plan_keys::setting_keys().begin(), plan_keys::setting_keys().end());
  if (!is_map_of(value, known, diagnostics)) return rule;
  rule.written = written(value);
  if (const ConfigValue* layers = value.find("layers")) rule.layers = read_layers(*layers, diagnostics);
  if (const ConfigValue* ops = value.find("ops")) rule.operators = text(*ops, diagnostics).value_or("");
  if (const ConfigValue* devices = value.find("devices")) rule.devices = read_devices(*devices, diagnostics);
  rule.settings = read_settings(value, diagnostics);
  const bool sets = value.find("devices") != nullptr || std::ranges::any_of(plan_keys::setting_keys(), [&](const auto& key) { return value.find(key); });
  if (!sets)
    diagnostics.add(value.place, fmt::format("a rule without devices or a setting changes nothing; settings: {}",
                                             fmt::join(plan_keys::setting_keys(), ", ")));
  return rule;
}

void read_counts(const ConfigValue& value, std::vector<int>& layers, Diagnostics& diagnostics) {
  if (value.kind == Kind::scalar && value.scalar == "even") return;
  if (!is_list(value, "layer counts, one a stage, or `even`", diagnostics)) return;
  for (const ConfigValue& item : value.items)
    if (const auto count = integer(item, 0, kMost, diagnostics)) layers.push_back(*count);
}

}  // namespace

SymbolicSettings read_settings(const ConfigValue& map, Diagnostics& diagnostics) {
  SymbolicSettings settings;
  for (std::size_t i = 0; i < map.items.size(); ++i) {
    const std::string& key = map.keys[i].first;
    const ConfigValue& value = map.items[i];
    if (key == "layout") settings.layout = read_layout(value, diagnostics);
    if (key == "home") settings.home = read_homes(value, diagnostics);
    if (key == "owners") settings.owners = read_owners(value, diagnostics);
    read_plain_setting(key, value, settings.other, diagnostics);
  }
  return settings;
}

Scope read_scope(const ConfigValue& map, Diagnostics& diagnostics) {
  Scope scope;
  scope.written = written(map);
  scope.settings = read_settings(map, diagnostics);
  if (const ConfigValue* devices = map.find("devices")) scope.devices = read_devices(*devices, diagnostics);
  if (const ConfigValue* rules = map.find("rules"); rules && is_list(*rules, "rules", diagnostics))
    for (const ConfigValue& rule : rules->items) scope.rules.push_back(read_rule(rule, diagnostics));
  return scope;
}

ShortForm read_short_form(const ConfigValue& map, Diagnostics& diagnostics) {
  ShortForm form;
  const auto size = [&](const char* key) -> std::optional<int> {
    const ConfigValue* value = map.find(key);
    return value ? integer(*value, 1, kMost, diagnostics) : std::nullopt;
  };
  form.tensor = size("tensor");
  form.context = size("context");
  form.expert = size("expert");
  form.expert_tensor = size("expert_tensor");
  form.data = size("data");
  form.pipeline = size("pipeline");
  form.chunks = size("chunks");
  form.shard = size("shard");
  if (const ConfigValue* v = map.find("micro_batch")) form.micro_batch = number_above_zero(*v, diagnostics);
  if (const ConfigValue* v = map.find("schedule")) form.schedule = choice(*v, schedule_names(), diagnostics);
  if (const ConfigValue* v = map.find("layers")) read_counts(*v, form.layers, diagnostics);
  if (const ConfigValue* v = map.find("rank_order"); v && is_list(*v, "axes, fastest first", diagnostics))
    for (const ConfigValue& item : v->items)
      if (const auto axis = choice(item, {"tensor", "context", "shard", "data", "pipeline"}, diagnostics))
        form.rank_order.push_back(*axis);
  return form;
}

}  // namespace trainyard::plan_reading
