// Cuts inside a layer that the lowering does not know yet: each line of the table is one.
#include <algorithm>
#include <set>
#include <tuple>

#include "sim/model/plan_check.hpp"
#include "sim/model/plan_questions.hpp"
#include "sim/model/whole_shares.hpp"

namespace trainyard::plan_check {
namespace {

constexpr AxisKind kGrid[] = {AxisKind::rows, AxisKind::columns, AxisKind::inner};

bool is_grid(const Settings& settings) {
  return std::ranges::any_of(kGrid, [&](AxisKind kind) { return axis_size(*settings.layout, kind) > 1; });
}

bool has_measured_layers(const Question& q) {
  return std::ranges::any_of(q.workload.modules, [](const Module& module) {
    return std::ranges::any_of(module.types, [](const LayerType& type) { return type.profile.has_value(); });
  });
}

bool has_adapters(const Question& q) {
  return std::ranges::any_of(q.workload.modules, [](const Module& module) {
    return std::ranges::any_of(module.types, [](const LayerType& type) {
      return std::ranges::any_of(type.operators, [](const Operator& op) { return !op.trainable; });
    });
  });
}

bool uses_grid(const Question& q) { return any_layer_settings(q, is_grid); }

bool puts_grid_beside_axes(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) {
    return is_grid(s) && std::ranges::any_of(*s.layout, [](const Axis& axis) {
             return axis.size() > 1 && axis.kind != AxisKind::data && std::ranges::find(kGrid, axis.kind) == std::end(kGrid);
           });
  });
}

bool mixes_grids(const Question& q) {
  std::set<std::tuple<int, int, int, int>> shapes;
  any_layer_settings(q, [&](const Settings& s) {
    const auto size = [&](AxisKind kind) { return axis_size(*s.layout, kind); };
    shapes.emplace(size(AxisKind::rows), size(AxisKind::columns), size(AxisKind::inner), size(AxisKind::tensor));
    return false;
  });
  return uses_grid(q) && shapes.size() > 1;
}

bool asks_more_of_grid(const Question& q) {
  if (!uses_grid(q)) return false;
  const bool settings = any_layer_settings(q, [](const Settings& s) {
    return *s.zero > 1 || *s.redundant_forward || std::ranges::any_of(s.home, [](const auto& home) { return home.second.place != Place::device; });
  });
  return settings || has_adapters(q) || has_measured_layers(q);
}

bool is_sliced(const Settings& settings) { return *settings.slices != Slices{}; }

bool cuts_unequal_shares_inside(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) {
    return (is_grid(s) || is_sliced(s)) && std::ranges::any_of(*s.layout, [](const Axis& axis) { return are_unequal(axis.shares); });
  });
}

bool slices_much_else(const Question& q) {
  const bool sliced = any_layer_settings(q, is_sliced);
  return (sliced && has_measured_layers(q)) || any_layer_settings(q, [](const Settings& s) {
           return is_sliced(s) && (is_grid(s) || axis_size(*s.layout, AxisKind::context) > 1 || s.zero == 3 || *s.redundant_forward);
         });
}

bool slices_chunks_differently(const Question& q) {
  return !has_plain_stages(q) && differs_inside_stage(q, [](const Settings& s) { return std::tuple(s.slices->rows, s.slices->columns, s.streams); });
}

/// What a layer's `streams` say stands against what its slices need: whether tensor collectives have a stream of their own.
bool streams_otherwise(const Question& q) {
  const bool other = any_setting(q, [](const Settings& s) {
    return std::ranges::any_of(s.streams, [](const auto& entry) {
      return entry.first != Traffic::tensor || (entry.second != "tensor" && entry.second != "compute");
    });
  });
  const bool unused = any_setting(q, [](const Settings& s) { return !s.streams.empty(); }) &&
                      any_layer_settings(q, [](const Settings& s) { return !is_sliced(s); });
  return other || unused;
}

constexpr Construct kInside[] = {
    {"a grid (`rows`, `columns`, `inner`) beside another axis than `data`", puts_grid_beside_axes},
    {"a grid where layouts differ inside a stage, between stages or between pipelines", mixes_grids},
    {"a grid with `zero` above 1, adapters, measured layers, offload or `redundant_forward`", asks_more_of_grid},
    {"a grid or `slices` with unequal shares", cuts_unequal_shares_inside},
    {"`slices` with a grid, a `context` axis, `zero: 3`, measured layers or `redundant_forward`", slices_much_else},
    {"`slices` that differ inside a stage of several chunks or with schedule `dualpipe`", slices_chunks_differently},
    {"`streams` other than `{tensor: tensor}` and `{tensor: compute}` beside `slices`", streams_otherwise},
};

}  // namespace

std::span<const Construct> constructs_inside_layers() { return kInside; }

}  // namespace trainyard::plan_check
