// What the table of constructs asks of a Plan; nobody but plan_constructs*.cpp includes this.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "sim/model/plan.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"

namespace trainyard::plan_check {

struct Question {
  const Plan& plan;
  const Cluster& cluster;
  const Workload& workload;
};
struct Construct {
  std::string_view name;
  bool (*used)(const Question&);
};

template <class Predicate>
bool any_part(const Question& q, Predicate predicate) {
  return std::ranges::any_of(q.plan.phases,
                             [&](const PlanPhase& phase) { return std::ranges::any_of(phase.parts, predicate); });
}

template <class Predicate>
bool any_stage(const Question& q, Predicate predicate) {
  return any_part(q, [&](const Part& part) { return std::ranges::any_of(part.stages, predicate); });
}

template <class Predicate>
bool any_rule(const Question& q, Predicate predicate) {
  return any_stage(q, [&](const Stage& stage) { return std::ranges::any_of(stage.rules, predicate); });
}

/// A setting that some rule gives.
template <class Predicate>
bool any_setting(const Question& q, Predicate predicate) {
  return any_rule(q, [&](const Rule& rule) { return predicate(rule.settings); });
}

inline std::vector<LayerId> layers_of(const Stage& stage) {
  std::vector<LayerId> layers;
  for (const auto& chunk : stage.chunks) layers.insert(layers.end(), chunk.begin(), chunk.end());
  return layers;
}

/// Whether what `of` takes from a layer's settings differs between layers of one stage.
template <class Of>
bool differs_inside_stage(const Question& q, Of of) {
  return any_stage(q, [&](const Stage& stage) {
    const std::vector<LayerId> layers = layers_of(stage);
    return std::ranges::any_of(layers, [&](LayerId layer) {
      return of(settings_of(stage, layer, q.workload)) != of(settings_of(stage, layers.front(), q.workload));
    });
  });
}

inline bool uses_schedule(const Question& q, std::string_view schedule) {
  return any_part(q, [&](const Part& part) { return part.schedule == schedule; });
}

/// Of one chunk each, on devices that work for no other.
inline bool has_plain_stages(const Question& q) {
  return !any_stage(q, [](const Stage& stage) { return stage.chunks.size() > 1; }) && !uses_schedule(q, "dualpipe");
}

template <class Of>
bool any_layer_settings(const Question& q, Of of) {
  return any_stage(q, [&](const Stage& stage) {
    return std::ranges::any_of(layers_of(stage), [&](LayerId layer) { return of(settings_of(stage, layer, q.workload)); });
  });
}

/// Those of cuts inside a layer: grids, slices, streams.
[[nodiscard]] std::span<const Construct> constructs_inside_layers();

}  // namespace trainyard::plan_check
