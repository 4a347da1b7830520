// The settings of a Plan, and its sets and tables, as values to write.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/model/plan_words.hpp"
#include "sim/planning/plan_writing.hpp"

namespace trainyard::plan_writing {
namespace {

ConfigValue number(double value) { return scalar(fmt::format("{}", value)); }
ConfigValue boolean(bool value) { return scalar(value ? "true" : "false"); }
template <class E>
ConfigValue word_value(E value) {
  return scalar(std::string(word(value)));
}

ConfigValue axis_value(const SymbolicAxis& axis) {
  ConfigValue value = map();
  if (std::ranges::all_of(axis.shares, [](double share) { return share == 1; })) {
    add(value, axis.name, number(static_cast<double>(axis.shares.size())));
    return value;
  }
  ConfigValue shares = list();
  for (const double share : axis.shares) shares.items.push_back(number(share));
  add(value, axis.name, shares);
  return value;
}

ConfigValue layout_value(const SymbolicLayout& layout) {
  ConfigValue value = list();
  for (const SymbolicAxis& axis : layout) value.items.push_back(axis_value(axis));
  return value;
}

ConfigValue recompute_value(const Recompute& recompute) {
  if (recompute.kind != RecomputeKind::every) return word_value(recompute.kind);
  ConfigValue value = map();
  add(value, "every", number(recompute.every));
  return value;
}

ConfigValue home_value(const SymbolicHome& home) {
  const ConfigValue at = home.place == Place::devices ? devices_value(home.at) : word_value(home.place);
  if (home.buffers == 0 && !home.sliced) return at;
  ConfigValue value = map();
  add(value, "at", at);
  if (home.buffers != 0) add(value, "buffers", number(home.buffers));
  if (home.sliced) add(value, "sliced", boolean(true));
  return value;
}

ConfigValue homes_value(const std::map<State, SymbolicHome>& homes) {
  ConfigValue value = map();
  for (const auto& [state, home] : homes) add(value, std::string(word(state)), home_value(home));
  return value;
}

ConfigValue sync_value(const Sync& sync) {
  ConfigValue value = map();
  if (sync.what != SyncWhat::gradients || sync == Sync{}) add(value, "what", word_value(sync.what));
  if (sync.every != 1) add(value, "every", number(sync.every));
  if (sync.lag != 0) add(value, "lag", sync.lag ? number(*sync.lag) : scalar("any"));
  if (sync.bucket)
    add(value, "bucket", sync.bucket->value == 0 ? scalar("layer") : scalar(fmt::format("{} B", sync.bucket->value)));
  return value;
}

ConfigValue wire_value(const Wire& wire) {
  ConfigValue value = map();
  for (const auto& [state, type] : wire.types) add(value, std::string(word(state)), scalar(std::string(name(type))));
  if (!wire.transport.empty()) add(value, "transport", scalar(wire.transport));
  if (wire.share != 1 || wire == Wire{}) add(value, "share", number(wire.share));
  if (wire.all_reduce != Algorithm::automatic) add(value, "all_reduce", word_value(wire.all_reduce));
  if (wire.all_gather != Algorithm::automatic) add(value, "all_gather", word_value(wire.all_gather));
  return value;
}

ConfigValue slices_value(const Slices& slices) {
  ConfigValue value = map();
  if (slices.rows != 1 || slices == Slices{}) add(value, "rows", number(slices.rows));
  if (slices.columns != 1) add(value, "columns", number(slices.columns));
  return value;
}

ConfigValue streams_value(const std::map<Traffic, std::string>& streams) {
  ConfigValue value = map();
  for (const auto& [traffic, stream] : streams) add(value, std::string(word(traffic)), scalar(stream));
  return value;
}

ConfigValue owners_value(const std::vector<ItemSet>& owners) {
  ConfigValue value = list();
  for (const ItemSet& items : owners) {
    ConfigValue member = list();
    for (const IndexRange& range : items) member.items.push_back(scalar(to_text(range)));
    value.items.push_back(member.items.size() == 1 ? member.items[0] : member);
  }
  return value;
}

std::string entries_text(const std::vector<SymbolicEntry>& entries) {
  std::vector<std::string> texts;
  for (const SymbolicEntry& entry : entries) texts.push_back(to_text(entry));
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace

ConfigValue scalar(std::string text) {
  ConfigValue value;
  value.kind = ConfigValue::Kind::scalar;
  value.scalar = std::move(text);
  return value;
}

ConfigValue list(std::vector<ConfigValue> items) {
  ConfigValue value;
  value.kind = ConfigValue::Kind::list;
  value.items = std::move(items);
  return value;
}

ConfigValue map() {
  ConfigValue value;
  value.kind = ConfigValue::Kind::map;
  return value;
}

void add(ConfigValue& map, const std::string& key, ConfigValue value) {
  map.keys.emplace_back(key, SourcePlace{});
  map.items.push_back(std::move(value));
}

ConfigValue devices_value(const DeviceSet& devices) {
  if (devices.size() == 1) return scalar(to_text(devices[0]));
  ConfigValue value = list();
  for (const DevicePiece& piece : devices) value.items.push_back(scalar(to_text(piece)));
  return value;
}

ConfigValue layers_value(const LayerSet& layers) {
  if (layers.size() == 1) return scalar(to_text(layers[0]));
  ConfigValue value = list();
  for (const LayerPiece& piece : layers) value.items.push_back(scalar(to_text(piece)));
  return value;
}

ConfigValue order_value(const SymbolicOrder& order) {
  if (const auto* name = std::get_if<std::string>(&order)) return scalar(*name);
  ConfigValue value = list();
  for (const auto& stage : std::get<1>(order)) {
    ConfigValue streams = map();
    for (const StreamOrder& stream : stage) add(streams, stream.stream, scalar(entries_text(stream.entries)));
    value.items.push_back(streams);
  }
  return value;
}

void add_settings(ConfigValue& map, const SymbolicSettings& settings) {
  const Settings& other = settings.other;
  if (settings.layout) add(map, "layout", layout_value(*settings.layout));
  if (other.zero) add(map, "zero", number(*other.zero));
  if (other.regather) add(map, "regather", boolean(*other.regather));
  if (other.recompute) add(map, "recompute", recompute_value(*other.recompute));
  if (!settings.home.empty()) add(map, "home", homes_value(settings.home));
  if (other.update) add(map, "update", word_value(*other.update));
  if (other.sync) add(map, "sync", sync_value(*other.sync));
  if (other.wire) add(map, "wire", wire_value(*other.wire));
  if (other.slices) add(map, "slices", slices_value(*other.slices));
  if (!other.streams.empty()) add(map, "streams", streams_value(other.streams));
  if (other.context_kind) add(map, "context_kind", word_value(*other.context_kind));
  if (other.sequence_parallel) add(map, "sequence_parallel", boolean(*other.sequence_parallel));
  if (other.redundant_forward) add(map, "redundant_forward", boolean(*other.redundant_forward));
  if (!settings.owners.empty()) add(map, "owners", owners_value(settings.owners));
}

}  // namespace trainyard::plan_writing
