// Constructs of the Plan's grammar that the lowering does not know yet. Each line of the table is one; who teaches the
// lowering a construct takes its line away.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/model/plan_check.hpp"
#include "sim/model/plan_questions.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/model/whole_shares.hpp"

namespace trainyard::plan_check {
namespace {

template <AxisKind kind>
bool has_axis(const Question& q) {
  return any_setting(q, [](const Settings& s) {
    return s.layout && std::ranges::any_of(*s.layout, [](const Axis& a) { return a.kind == kind && a.size() > 1; });
  });
}

bool shares_table(const Workload& workload, LayerId layer) {
  return std::ranges::any_of(workload.modules, [&](const Module& module) {
    const bool shares = index(layer) < module.layers.size() && !module.layers[index(layer)].tied_to.empty();
    return shares || std::ranges::any_of(module.layers, [&](const Layer& other) {
      return std::ranges::find(other.tied_to, layer) != other.tied_to.end();
    });
  });
}

/// Layers of one stage with several chunks, or of a schedule whose devices work for several stages, must be cut alike.
bool several_chunks_are_cut_differently(const Question& q) {
  return !has_plain_stages(q) && differs_inside_stage(q, [](const Settings& s) { return std::tuple(*s.layout, *s.zero, *s.regather); });
}

/// First and last layers of one stage that share a table but cut it differently.
bool cuts_shared_table_differently(const Question& q) {
  return any_stage(q, [&](const Stage& stage) {
    std::set<int> sizes;
    for (const LayerId layer : layers_of(stage))
      if (shares_table(q.workload, layer)) sizes.insert(axis_size(*q.settings_at(stage, layer).layout, AxisKind::tensor));
    return sizes.size() > 1;
  });
}

bool any_layer(const Question&, LayerId) { return true; }

bool size_differs_in_pipeline(const Question& q, AxisKind kind, bool (*counts)(const Question&, LayerId) = any_layer) {
  return any_part(q, [&](const Part& part) {
    return std::ranges::any_of(part.pipelines, [&](const Pipeline& pipeline) {
      std::set<int> sizes;
      for (const StageId stage : pipeline.stages)
        for (const LayerId layer : layers_of(part.stages[index(stage)]))
          if (counts(q, layer)) sizes.insert(axis_size(*q.settings_at(part.stages[index(stage)], layer).layout, kind));
      return sizes.size() > 1;
    });
  });
}

/// An encoder of images or sounds may leave the language model's context axis to it.
bool context_size_differs_in_pipeline(const Question& q) {
  return size_differs_in_pipeline(q, AxisKind::context, [](const Question& of, LayerId layer) {
    return !is_of_type(of, layer, [](const LayerType& type) { return type.samples.width > 0; });
  });
}

/// Whether what `of` takes from a layer's settings differs between pipelines.
template <class Of>
bool differs_between_pipelines(const Question& q, Of of) {
  return any_part(q, [&](const Part& part) {
    std::map<LayerId, std::set<int>> seen;
    for (const Pipeline& pipeline : part.pipelines)
      for (const StageId id : pipeline.stages) {
        const Stage& stage = part.stages[index(id)];
        for (const LayerId layer : layers_of(stage)) seen[layer].insert(of(q.settings_at(stage, layer)));
      }
    return std::ranges::any_of(seen, [](const auto& entry) { return entry.second.size() > 1; });
  });
}

bool holders_cut_layers_differently(const Question& q) {
  return differs_between_pipelines(q, [](const Settings& s) { return axis_size(*s.layout, AxisKind::tensor); });
}

bool holders_shard_layers_differently(const Question& q) {
  return differs_between_pipelines(q, [](const Settings& s) { return *s.zero; });
}

bool device_in_several_stages(const Question& q) {
  return any_part(q, [](const Part& part) {
    std::map<DeviceId, std::size_t> stage_of;
    for (std::size_t s = 0; s < part.stages.size(); ++s)
      for (const DeviceId device : part.stages[s].devices)
        if (const auto [known, is_new] = stage_of.emplace(device, s); !is_new && known->second != s) return true;
    return false;
  });
}

bool stage_in_several_pipelines(const Question& q) {
  return any_part(q, [](const Part& part) {
    std::set<StageId> used;
    for (const Pipeline& pipeline : part.pipelines)
      for (const StageId stage : pipeline.stages)
        if (!used.insert(stage).second) return true;
    return false;
  });
}

bool chunks_in_one_visit_schedule(const Question& q) {
  return any_part(q, [](const Part& part) {
    const bool several = std::ranges::any_of(part.stages, [](const Stage& stage) { return stage.chunks.size() > 1; });
    return several && (part.schedule == "gpipe" || part.schedule == "1f1b" || part.schedule == "zb_h1" || part.schedule == "dualpipe" ||
                       part.schedule == "colocated");
  });
}

template <class Predicate>
bool any_lane(const Question& q, Predicate predicate) {
  return std::ranges::any_of(q.plan.phases, [&](const PlanPhase& phase) { return std::ranges::any_of(phase.lanes, predicate); });
}

bool orders_other_streams(const Question& q) {
  return any_lane(q, [](const Lane& lane) { return lane.stream != "compute" && lane.stream != "d2h" && lane.stream != "h2d"; });
}

bool delays_other_operations(const Question& q) {
  return any_lane(q, [](const Lane& lane) {
    return std::ranges::any_of(lane.entries, [](const Entry& e) { return e.not_before && e.operation.kind != 'R'; });
  });
}

bool uses_zero(const Question& q, int level) {
  return any_layer_settings(q, [&](const Settings& s) { return s.zero == level; });
}

bool shards_without_zero_3(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) { return axis_size(*s.layout, AxisKind::shard) > 1 && s.zero != 3; });
}

/// Zero-bubble schedules; in tables any stage may split its backward passes.
bool splits_backward(const Question& q) {
  return any_part(q, [](const Part& part) {
    return part.schedule == "zb_h1" || part.schedule == "zb_v" || part.schedule == "dualpipe" || part.schedule == "table";
  });
}

/// Without a `shard` axis the context ranks would be shards too.
bool shards_over_context(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) {
    return s.zero == 3 && axis_size(*s.layout, AxisKind::context) > 1 && axis_size(*s.layout, AxisKind::shard) == 1;
  });
}

template <class Predicate>
bool any_home(const Question& q, Predicate predicate) {
  return any_setting(q, [&](const Settings& s) {
    return std::ranges::any_of(s.home, [&](const auto& entry) { return predicate(entry.first, entry.second); });
  });
}

/// In a setting whose other keys meet `where`.
template <class Where>
bool any_unequal(const Question& q, AxisKind kind, Where where) {
  return any_layer_settings(q, [&](const Settings& s) {
    return std::ranges::any_of(*s.layout, [&](const Axis& axis) { return axis.kind == kind && are_unequal(axis.shares); }) && where(s);
  });
}
bool has_unequal(const Question& q, AxisKind kind) {
  return any_unequal(q, kind, [](const Settings&) { return true; });
}
bool has_unequal_shares(const Question& q) { return has_unequal(q, AxisKind::data) || has_unequal(q, AxisKind::tensor); }
bool has_other_unequal_shares(const Question& q) {
  return any_setting(q, [](const Settings& s) {
    return s.layout && std::ranges::any_of(*s.layout, [](const Axis& axis) {
             return axis.kind != AxisKind::data && axis.kind != AxisKind::tensor && are_unequal(axis.shares);
           });
  });
}
bool shards_unequal_data(const Question& q) {
  return any_unequal(q, AxisKind::data, [](const Settings& s) { return s.zero == 3 || axis_size(*s.layout, AxisKind::shard) > 1; });
}
/// Parts of a layer's states that other holders, shards or hosts would have to be cut like.
bool shares_unequal_tensors(const Question& q) {
  if (!has_unequal(q, AxisKind::tensor)) return false;
  return any_part(q, [](const Part& part) { return part.pipelines.size() > 1; }) || any_home(q, [](State, const Home& home) { return home != Home{}; }) ||
         any_unequal(q, AxisKind::tensor, [](const Settings& s) { return s.zero == 3 || members(*s.layout) > axis_size(*s.layout, AxisKind::tensor); });
}

bool lives_far_away(const Question& q) {
  return any_home(q, [](State, const Home& home) { return home.place == Place::storage || home.place == Place::devices; });
}
bool caches_elsewhere(const Question& q) {
  return any_home(q, [](State state, const Home& home) { return state == State::kv && home != Home{}; });
}
bool slices_home(const Question& q) {
  return any_home(q, [](State, const Home& home) { return home.sliced; });
}

bool on_host(const Settings& settings, State state) { return settings.home.at(state).place == Place::host; }

bool offloads_with_other_schedule(const Question& q) {
  const bool other = any_part(q, [](const Part& p) { return p.schedule != "gpipe" && p.schedule != "1f1b" && p.schedule != "interleaved"; });
  const bool table = !any_part(q, [](const Part& p) { return p.schedule != "table"; });  // which says itself what leaves the device
  return other && any_home(q, [&](State state, const Home& home) { return home.place == Place::host && !(table && state == State::activations); });
}
bool offloads_where_cuts_differ(const Question& q) {
  const bool differs = differs_inside_stage(q, [](const Settings& s) { return std::tuple(*s.layout, *s.zero, *s.regather); }) || holders_cut_layers_differently(q);
  return differs && any_home(q, [](State, const Home& home) { return home.place == Place::host; });
}
bool shards_host_copies(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) {
    return (on_host(s, State::weights) || on_host(s, State::gradients)) && (s.zero == 1 || s.zero == 2);
  });
}
bool sends_gradients_back(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) { return on_host(s, State::gradients) && !on_host(s, State::optimizer); });
}
bool updates_early_on_device(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) { return s.update == Update::layer && !on_host(s, State::optimizer); });
}

/// Gradients that are added up in host memory while other hosts hold the layer too.
bool adds_on_several_hosts(const Question& q) {
  if (!any_home(q, [](State state, const Home& home) { return state == State::gradients && home.place == Place::host; })) return false;
  return any_part(q, [&](const Part& part) {
    std::map<LayerId, std::set<NodeId>> nodes;
    std::set<LayerId> added;
    for (const Stage& stage : part.stages)
      for (const auto& chunk : stage.chunks)
        for (const LayerId layer : chunk) {
          const Settings settings = q.settings_at(stage, layer);
          if (on_host(settings, State::gradients) && settings.zero != 3) added.insert(layer);
          for (const DeviceId device : stage.devices) nodes[layer].insert(q.cluster.devices[index(device)].node);
        }
    return std::ranges::any_of(added, [&](LayerId layer) { return nodes[layer].size() > 1; });
  });
}

/// Where a stage repeats the next one's forward passes, both are one plain run of layers, cut alike, with their states on the device.
bool repeats_stages_that_are_not_plain(const Question& q) {
  if (!any_layer_settings(q, [](const Settings& s) { return *s.redundant_forward; })) return false;
  const auto shape = [](const Settings& s) { return std::tuple(*s.layout, *s.zero == 3, *s.sequence_parallel, *s.redundant_forward); };
  const bool off_device = any_home(q, [](State, const Home& home) { return home != Home{}; });
  return !has_plain_stages(q) || off_device || has_unequal_shares(q) || differs_inside_stage(q, shape) || size_differs_in_pipeline(q, AxisKind::tensor) ||
         size_differs_in_pipeline(q, AxisKind::data) || any_layer_settings(q, [](const Settings& s) { return *s.zero == 3; });
}

template <class Predicate>
bool any_wire(const Question& q, Predicate predicate) {
  return any_setting(q, [&](const Settings& s) { return s.wire && predicate(*s.wire); });
}

template <State state>
bool sends_as(const Question& q) {
  return any_wire(q, [](const Wire& wire) { return wire.types.contains(state); });
}

bool copies_gradients_otherwise(const Question& q) {
  return any_layer_settings(q, [](const Settings& s) {
    return s.wire->types.contains(State::gradients) && (on_host(s, State::gradients) || on_host(s, State::optimizer));
  });
}

/// Equal where the algorithms and the gradients' type are.
int wire_number(const Settings& settings) {
  const auto type = settings.wire->types.find(State::gradients);
  const int gradients = type == settings.wire->types.end() ? 0 : 1 + int(type->second);
  return (int(settings.wire->all_reduce) * 100 + int(settings.wire->all_gather)) * 100 + gradients;
}

bool wires_table_differently(const Question& q) {
  return any_part(q, [&](const Part& part) {
    std::set<int> wires;
    for (const Stage& stage : part.stages)
      for (const LayerId layer : layers_of(stage))
        if (shares_table(q.workload, layer)) wires.insert(wire_number(q.settings_at(stage, layer)));
    return wires.size() > 1;
  });
}

/// Tables exchange weights, every so many steps; everything else gradients in every step.
bool syncs_otherwise(const Question& q) {
  return any_rule(q, [](const Rule& rule) {
    const std::optional<Sync>& sync = rule.settings.sync;
    if (!sync) return false;
    if (rule.operators == "tables") return sync->what != SyncWhat::weights || sync->lag != 0;
    return sync->what != SyncWhat::gradients || sync->every != 1 || sync->lag != 0;
  });
}

bool every_pass_trains(const Question& q) {
  return !any_part(q, [&](const Part& part) { return q.workload.passes[index(part.pass)].kind != PassKind::train; });
}

/// Tables are items as experts are.
bool is_rule_of_experts(const Rule& rule) { return rule.operators == "experts" || rule.operators == "tables"; }

bool says_more_of_experts(const Question& q) {
  return any_rule(q, [](const Rule& rule) {
    Settings rest = rule.settings;
    rest.layout.reset();
    rest.owners.clear();
    if (rule.operators == "tables") rest.sync.reset();
    return is_rule_of_experts(rule) && rest != Settings{};
  });
}

bool lays_experts_otherwise(const Question& q) {
  return any_rule(q, [](const Rule& rule) {
    const auto known = [](const Axis& axis) { return axis.kind == AxisKind::data || axis.kind == AxisKind::items || axis.kind == AxisKind::tensor; };
    return is_rule_of_experts(rule) && rule.settings.layout && !std::ranges::all_of(*rule.settings.layout, known);
  });
}

bool has_items_axis(const Settings& settings) { return settings.layout && axis_size(*settings.layout, AxisKind::items) > 1; }

bool has_expert_axis_outside(const Question& q) {
  return any_rule(q, [](const Rule& rule) { return !is_rule_of_experts(rule) && has_items_axis(rule.settings); });
}

/// The module that the plan's parts train; a layer with experts has operators of several items.
bool has_experts(const Question& q, LayerId layer) {
  return std::ranges::any_of(q.workload.modules, [&](const Module& module) {
    return index(layer) < module.layers.size() &&
           std::ranges::any_of(module.types[index(module.layers[index(layer)].type)].operators, [](const Operator& op) { return op.items > 1; });
  });
}

bool has_expert_axis_for_others(const Question& q) {
  return any_rule(q, [](const Rule& rule) { return is_rule_of_experts(rule) && has_items_axis(rule.settings); }) &&
         !any_stage(q, [&](const Stage& stage) { return std::ranges::any_of(layers_of(stage), [&](LayerId layer) { return has_experts(q, layer); }); });
}

/// Axes of experts by their sizes; nothing where they follow the layout of the rest.
std::optional<std::pair<int, int>> experts_apart(const Question& q, const Stage& stage, LayerId layer) {
  if (!has_experts(q, layer)) return std::nullopt;
  const Layout rest = *q.settings_at(stage, layer).layout, experts = *settings_of(stage, layer, q.workload, "experts").layout;
  const std::pair sizes(axis_size(experts, AxisKind::items), axis_size(experts, AxisKind::tensor));
  return sizes.first > 1 || sizes.second != axis_size(rest, AxisKind::tensor) ? std::optional(sizes) : std::nullopt;
}

template <class Predicate>
bool experts_apart_with(const Question& q, Predicate predicate) {
  return any_stage(q, [&](const Stage& stage) {
    return std::ranges::any_of(layers_of(stage), [&](LayerId layer) {
      return experts_apart(q, stage, layer).has_value() && predicate(q.settings_at(stage, layer));
    });
  });
}

bool lays_experts_differently_in_pipelines(const Question& q) {
  return any_part(q, [&](const Part& part) {
    std::map<LayerId, std::set<std::optional<std::pair<int, int>>>> layouts;
    for (const Stage& stage : part.stages)
      for (const LayerId layer : layers_of(stage)) layouts[layer].insert(experts_apart(q, stage, layer));
    return std::ranges::any_of(layouts, [](const auto& of_layer) { return of_layer.second.size() > 1; });
  });
}

bool expert_layouts_differ_inside(const Question& q) {
  return any_stage(q, [&](const Stage& stage) {
    std::set<std::optional<std::pair<int, int>>> layouts;
    for (const LayerId layer : layers_of(stage))
      if (has_experts(q, layer)) layouts.insert(experts_apart(q, stage, layer));
    return layouts.size() > 1;
  });
}

// What stands in words only: one line a construct.
constexpr Construct kNotSimulated[] = {
    {"several `phases`", [](const Question& q) { return q.plan.phases.size() > 1; }},
    {"`iterations` of a phase",
     [](const Question& q) { return q.plan.phases.size() == 1 && q.plan.phases[0].iterations != IterationRange{}; }},
    {"`switch`",
     [](const Question& q) { return q.plan.switch_mode != SwitchMode::stop || q.plan.switch_delay != Seconds{}; }},
    {"several `parts`",
     [](const Question& q) {
       return std::ranges::any_of(q.plan.phases, [](const PlanPhase& phase) { return phase.parts.size() > 1; });
     }},
    {"a pass that does not train", [](const Question& q) { return !every_pass_trains(q); }},
    {"`batching`", [](const Question& q) { return any_part(q, [](const Part& p) { return p.batching.has_value(); }); }},
    {"`dispatch`",
     [](const Question& q) { return any_part(q, [](const Part& p) { return p.dispatch != Dispatch{}; }); }},
    {"a part without pipelines",
     [](const Question& q) { return any_part(q, [](const Part& p) { return p.pipelines.empty(); }); }},
    {"a stage that several pipelines pass through", stage_in_several_pipelines},
    {"a device in several stages but for schedules dualpipe and colocated",
     [](const Question& q) { return device_in_several_stages(q) && !shares_devices(q); }},
    {"several `chunks` in a stage with schedule gpipe, 1f1b, zb_h1, dualpipe or colocated", chunks_in_one_visit_schedule},
    {"a stream other than compute, d2h and h2d in `order`", orders_other_streams},
    {"@ of an operation other than R in `order`", delays_other_operations},
    {"schedule `asynchronous`", [](const Question& q) { return uses_schedule(q, "asynchronous"); }},
    {"a rule with `ops` other than experts and tables",
     [](const Question& q) { return any_rule(q, [](const Rule& r) { return !r.operators.empty() && !is_rule_of_experts(r); }); }},
    {"a rule for experts that says more than `layout` and `owners` (for tables: and `sync`)", says_more_of_experts},
    {"a layout of experts with other axes than data, expert and tensor", lays_experts_otherwise},
    {"an `expert` axis outside a rule for experts", has_expert_axis_outside},
    {"an `expert` axis for layers without experts", has_expert_axis_for_others},
    {"unequal shares of tensor axes or of experts' axes in layers with experts",
     [](const Question& q) {
       return any_stage(q, [&](const Stage& stage) {
         return std::ranges::any_of(layers_of(stage), [&](LayerId layer) {
           if (!has_experts(q, layer)) return false;
           const Layout rest = *q.settings_at(stage, layer).layout, experts = *settings_of(stage, layer, q.workload, "experts").layout;
           const auto is_unequal = [](const Axis& axis) { return are_unequal(axis.shares); };
           const auto cuts_weights = [&](const Axis& axis) { return axis.kind != AxisKind::data && is_unequal(axis); };
           return std::ranges::any_of(rest, cuts_weights) || (experts != rest && std::ranges::any_of(experts, is_unequal));
         });
       });
     }},
    {"experts cut over a number of devices that does not divide the tensor axis",
     [](const Question& q) {
       return any_stage(q, [&](const Stage& stage) {
         return std::ranges::any_of(layers_of(stage), [&](LayerId layer) {
           const auto sizes = experts_apart(q, stage, layer);
           return sizes && axis_size(*q.settings_at(stage, layer).layout, AxisKind::tensor) % sizes->second != 0;
         });
       });
     }},
    {"experts laid out apart with `slices`", [](const Question& q) { return experts_apart_with(q, [](const Settings& s) { return *s.slices != Slices{}; }); }},
    {"a grid (`rows`, `columns`, `inner`) in layers with experts",
     [](const Question& q) {
       return any_stage(q, [&](const Stage& stage) {
         return std::ranges::any_of(layers_of(stage), [&](LayerId layer) {
           const Layout layout = *q.settings_at(stage, layer).layout;
           return has_experts(q, layer) && axis_size(layout, AxisKind::rows) * axis_size(layout, AxisKind::columns) * axis_size(layout, AxisKind::inner) > 1;
         });
       });
     }},
    {"experts laid out apart with `zero: 3` in several pipelines, or with shards fewer than data ranks",
     [](const Question& q) {
       const bool several = any_part(q, [](const Part& part) { return part.pipelines.size() > 1; });
       return experts_apart_with(q, [&](const Settings& s) {
         const bool hybrid = axis_size(*s.layout, AxisKind::shard) > 1 && axis_size(*s.layout, AxisKind::data) > 1;
         return *s.zero == 3 && (several || hybrid);
       });
     }},
    {"experts laid out apart beside a tensor axis without `sequence_parallel`",
     [](const Question& q) {
       return experts_apart_with(q, [](const Settings& s) { return axis_size(*s.layout, AxisKind::tensor) > 1 && !*s.sequence_parallel; });
     }},
    {"experts laid out apart with states on the host or `redundant_forward`",
     [](const Question& q) {
       return experts_apart_with(q, [](const Settings& s) {
         return *s.redundant_forward || std::ranges::any_of(s.home, [](const auto& home) { return home.second != Home{}; });
       });
     }},
    {"experts of one layer laid out differently in several pipelines", lays_experts_differently_in_pipelines},
    {"layouts of experts that differ inside a stage of several chunks or with schedule `dualpipe`",
     [](const Question& q) { return !has_plain_stages(q) && expert_layouts_differ_inside(q); }},
    {"a rule with `devices`",
     [](const Question& q) { return any_rule(q, [](const Rule& r) { return !r.devices.empty(); }); }},
    {"`shard` axis with `zero` below 3", shards_without_zero_3},
    {"`zero: 3` with weight gradients apart (zb_h1, zb_v, dualpipe, tables)",
     [](const Question& q) { return uses_zero(q, 3) && splits_backward(q); }},
    {"a `context` axis of different size in the stages of a pipeline", context_size_differs_in_pipeline},
    {"a `context` axis with `zero: 3` but no `shard` axis", shards_over_context},
    {"`variant` axis", has_axis<AxisKind::variant>},
    {"unequal shares of an axis other than data and tensor", has_other_unequal_shares},
    {"unequal shares of a data axis with `zero: 3` or a `shard` axis", shards_unequal_data},
    {"unequal shares of a tensor axis with other axes, several pipelines, `zero: 3` or a `home`", shares_unequal_tensors},
    {"layouts or `zero` that differ inside a stage of several chunks or with schedule `dualpipe`", several_chunks_are_cut_differently},
    {"a table shared by layers of one stage that cut it differently", cuts_shared_table_differently},
    {"pipelines that cut a layer over tensor axes of different size with `zero: 3`",
     [](const Question& q) { return uses_zero(q, 3) && holders_cut_layers_differently(q); }},
    {"pipelines that shard a layer's states at different levels of `zero`", holders_shard_layers_differently},
    {"`zero: 2` in several pipelines",
     [](const Question& q) { return uses_zero(q, 2) && any_part(q, [](const Part& part) { return part.pipelines.size() > 1; }); }},
    {"`zero: 2` with weight gradients apart (zb_h1, zb_v, dualpipe, tables)",
     [](const Question& q) { return uses_zero(q, 2) && splits_backward(q); }},
    {"`home` in storage or on other devices", lives_far_away},
    {"`home` of kv", caches_elsewhere},
    {"`home` with `sliced`", slices_home},
    {"`home` on the host with a schedule other than gpipe, 1f1b and interleaved (of activations, with tables too)", offloads_with_other_schedule},
    {"`home` on the host where layouts or `zero` differ inside a stage, or tensor sizes between pipelines", offloads_where_cuts_differ},
    {"`home` of weights or gradients on the host with `zero` 1 or 2 (states exist once a host with `zero: 0`)", shards_host_copies},
    {"`home` of gradients on the host without the optimizer", sends_gradients_back},
    {"`home` of gradients on several hosts but for `zero: 3`", adds_on_several_hosts},
    {"`update: layer` with the optimizer on the device", updates_early_on_device},
    {"`redundant_forward` but in stages of one chunk and one layout alike, with `zero` below 3 and states on the device", repeats_stages_that_are_not_plain},
    {"`update: next_visit`",
     [](const Question& q) {
       return any_setting(q, [](const Settings& s) { return s.update == Update::next_visit; });
     }},
    {"`sync` other than gradients in every step without lag", syncs_otherwise},
    {"`wire.transport`", [](const Question& q) { return any_wire(q, [](const Wire& wire) { return !wire.transport.empty(); }); }},
    {"`wire.share`", [](const Question& q) { return any_wire(q, [](const Wire& wire) { return wire.share != 1; }); }},
    {"`wire.all_reduce: sharded_ps`",
     [](const Question& q) { return any_wire(q, [](const Wire& wire) { return wire.all_reduce == Algorithm::sharded_ps; }); }},
    {"`wire.weights`", sends_as<State::weights>},
    {"`wire.optimizer`", sends_as<State::optimizer>},
    {"`wire.activations`", sends_as<State::activations>},
    {"`wire.kv`", sends_as<State::kv>},
    {"`wire.gradients` with `home` of gradients or the optimizer on the host", copies_gradients_otherwise},
    {"`wire` that differs inside a stage of several chunks or with schedule `dualpipe`",
     [](const Question& q) { return has_plain_stages(q) ? false : differs_inside_stage(q, [](const Settings& s) { return *s.wire; }); }},
    {"pipelines that hold a layer with different `wire`",
     [](const Question& q) { return differs_between_pipelines(q, [](const Settings& s) { return wire_number(s); }); }},
    {"a shared table with different `wire`", wires_table_differently},
    {"`owners` outside a rule for experts",
     [](const Question& q) { return any_rule(q, [](const Rule& r) { return r.operators.empty() && !r.settings.owners.empty(); }); }},
};

}  // namespace

void check_constructs(const Plan& plan, const Cluster& cluster, const Workload& workload, Problems& problems) {
  const Question question{plan, cluster, workload};
  for (const std::span<const Construct> table : {std::span<const Construct>(kNotSimulated), constructs_inside_layers(), constructs_of_samples()})
    for (const Construct& construct : table)
      if (construct.used(question)) problems.push_back(fmt::format("{}: not simulated yet", construct.name));
}

}  // namespace trainyard::plan_check
