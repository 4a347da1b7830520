#include "sim/model/plan.hpp"

#include <algorithm>

#include "sim/model/workload.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

template <class T>
void take_over(std::optional<T>& base, const std::optional<T>& over) {
  if (over) base = over;
}

template <class T>
void fill(std::optional<T>& value, T fallback) {
  if (!value) value = std::move(fallback);
}

/// Tables are items as experts are: one name asks for both.
bool applies(const Rule& rule, LayerId layer, const std::string& operator_group) {
  if (!rule.layers.empty() && std::ranges::find(rule.layers, layer) == rule.layers.end()) return false;
  if (rule.operators.empty()) return true;
  if (operator_group == "experts" && rule.operators == "tables") return true;
  return !operator_group.empty() && glob_matches(rule.operators, operator_group);
}

int default_zero(const Layout& layout, const Software& software) {
  if (axis_size(layout, AxisKind::shard) > 1) return 3;
  return software.distributed_optimizer && axis_size(layout, AxisKind::data) > 1 ? 1 : 0;
}

void fill_streams(std::map<Traffic, std::string>& streams, const Software& software) {
  streams.try_emplace(Traffic::tensor, software.overlap_tensor ? "tensor" : "compute");
  streams.try_emplace(Traffic::pipeline, software.overlap_pipeline ? "pipeline" : "compute");
  streams.try_emplace(Traffic::data, software.overlap_gradient_reduce ? "data" : "compute");
}

}  // namespace

Axis equal_axis(AxisKind kind, int size) {
  require(size >= 1, "an axis has at least one member");
  return {kind, std::vector<double>(static_cast<std::size_t>(size), 1.0)};
}

int axis_size(const Layout& layout, AxisKind kind) {
  for (const Axis& axis : layout)
    if (axis.kind == kind) return axis.size();
  return 1;
}

int members(const Layout& layout) {
  int product = 1;
  for (const Axis& axis : layout) product *= axis.size();
  return product;
}

// `*` any text, `?` one letter; after a mismatch the last `*` takes one letter more.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++, taken = t;
    } else if (star != std::string_view::npos) {
      p = star + 1, t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

void overlay(Settings& base, const Settings& over) {
  take_over(base.layout, over.layout);
  take_over(base.zero, over.zero);
  take_over(base.regather, over.regather);
  take_over(base.sequence_parallel, over.sequence_parallel);
  take_over(base.redundant_forward, over.redundant_forward);
  take_over(base.recompute, over.recompute);
  for (const auto& [state, home] : over.home) base.home[state] = home;
  take_over(base.update, over.update);
  take_over(base.sync, over.sync);
  take_over(base.wire, over.wire);
  take_over(base.slices, over.slices);
  take_over(base.context_kind, over.context_kind);
  for (const auto& [traffic, stream] : over.streams) base.streams[traffic] = stream;
  if (!over.owners.empty()) base.owners = over.owners;
}

Settings written_settings(const Stage& stage, LayerId layer, const std::string& operator_group) {
  Settings settings;
  for (const Rule& rule : stage.rules)
    if (applies(rule, layer, operator_group)) overlay(settings, rule.settings);
  return settings;
}

Settings settings_of(const Stage& stage, LayerId layer, const Workload& workload, const std::string& operator_group) {
  Settings settings = written_settings(stage, layer, operator_group);
  const Software& software = workload.software;
  if (!settings.layout) settings.layout = {equal_axis(AxisKind::data, static_cast<int>(stage.devices.size()))};
  fill(settings.zero, default_zero(*settings.layout, software));
  fill(settings.regather, true);
  fill(settings.sequence_parallel, software.sequence_parallel && axis_size(*settings.layout, AxisKind::tensor) > 1);
  fill(settings.redundant_forward, false);
  fill(settings.recompute, Recompute{});
  for (const State state : {State::weights, State::gradients, State::optimizer, State::activations, State::kv})
    settings.home.try_emplace(state);
  fill(settings.update, Update::end);
  fill(settings.sync, Sync{});
  fill(settings.wire, Wire{});
  fill(settings.slices, Slices{});
  fill(settings.context_kind, ContextKind::ring);
  fill_streams(settings.streams, software);
  return settings;
}

}  // namespace trainyard
