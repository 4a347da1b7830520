// What the table of constructs asks of a Plan; nobody but plan_constructs*.cpp includes this.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "sim/model/plan.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/workload.hpp"

namespace trainyard::plan_check {

/// Settings of a stage's layers, worked out once: those that no rule names have the same.
class StageSettings {
 public:
  StageSettings(const Stage& stage, const Workload& workload) {
    for (const auto& chunk : stage.chunks)
      for (const LayerId layer : chunk) add(stage, layer, workload);
  }
  [[nodiscard]] const Settings& of(LayerId layer) const {
    const auto own = named_.find(layer);
    return own != named_.end() ? own->second : common_.front();
  }
  template <class Predicate>
  [[nodiscard]] bool any(Predicate predicate) const {
    return std::ranges::any_of(common_, predicate) || std::ranges::any_of(named_, [&](const auto& entry) { return predicate(entry.second); });
  }

 private:
  void add(const Stage& stage, LayerId layer, const Workload& workload) {
    const bool named = std::ranges::any_of(stage.rules, [&](const Rule& rule) { return std::ranges::find(rule.layers, layer) != rule.layers.end(); });
    if (named)
      named_.try_emplace(layer, settings_of(stage, layer, workload));
    else if (common_.empty())
      common_.push_back(settings_of(stage, layer, workload));
  }

  std::vector<Settings> common_;         ///< one or none
  std::map<LayerId, Settings> named_;
};

struct Question {
  Question(const Plan& the_plan, const Cluster& the_cluster, const Workload& the_workload) : plan(the_plan), cluster(the_cluster), workload(the_workload) {
    for (const PlanPhase& phase : plan.phases)
      for (const Part& part : phase.parts)
        for (const Stage& stage : part.stages) settings.try_emplace(&stage, stage, workload);
  }
  [[nodiscard]] const Settings& settings_at(const Stage& stage, LayerId layer) const { return settings.at(&stage).of(layer); }

  const Plan& plan;
  const Cluster& cluster;
  const Workload& workload;
  std::map<const Stage*, StageSettings> settings{};
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
    return !layers.empty() && q.settings.at(&stage).any([&](const Settings& s) { return of(s) != of(q.settings_at(stage, layers.front())); });
  });
}

inline bool uses_schedule(const Question& q, std::string_view schedule) {
  return any_part(q, [&](const Part& part) { return part.schedule == schedule; });
}

/// By a schedule under which a device may work for several stages.
inline bool shares_devices(const Question& q) { return uses_schedule(q, "dualpipe") || uses_schedule(q, "colocated"); }

/// Of one chunk each, on devices that work for no other.
inline bool has_plain_stages(const Question& q) {
  return !any_stage(q, [](const Stage& stage) { return stage.chunks.size() > 1; }) && !shares_devices(q);
}

/// Whether a module's layer of this number is of such a type.
template <class Predicate>
bool is_of_type(const Question& q, LayerId layer, Predicate predicate) {
  return std::ranges::any_of(q.workload.modules, [&](const Module& module) {
    return index(layer) < module.layers.size() && predicate(module.types[index(module.layers[index(layer)].type)]);
  });
}

template <class Of>
bool any_layer_settings(const Question& q, Of of) {
  return std::ranges::any_of(q.settings, [&](const auto& entry) { return entry.second.any(of); });
}

/// Those of cuts inside a layer: grids, slices, streams.
[[nodiscard]] std::span<const Construct> constructs_inside_layers();
/// Those of samples that differ from each other, and of layers that see them in their own way.
[[nodiscard]] std::span<const Construct> constructs_of_samples();

}  // namespace trainyard::plan_check
