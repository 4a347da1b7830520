// YAML -> SymbolicPlan: the levels of the tree. A level with one member may be left out; its keys then stand one level
// up.
#include <fmt/format.h>

#include <algorithm>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "sim/planning/plan_keys.hpp"
#include "sim/planning/plan_reading.hpp"
#include "sim/planning/plan_text.hpp"

namespace trainyard {
namespace {

using Kind = ConfigValue::Kind;
using plan_keys::Level;
using namespace plan_reading;

/// Where a long-form map stands: it holds the keys of the levels first..last, both included.
struct Span {
  Level first = Level::plan, last = Level::stage;
};

/// `stages` belongs to a part as a map, to a pipeline as a list.
const ConfigValue* stages_as(const ConfigValue& map, Kind kind) {
  const ConfigValue* stages = map.find("stages");
  return stages && stages->kind == kind ? stages : nullptr;
}

Level last_level(const ConfigValue& map, Level first) {
  if (first <= Level::plan && map.find("phases")) return Level::plan;
  if (first <= Level::phase && map.find("parts")) return Level::phase;
  if (first <= Level::part && map.find("pipelines")) return Level::part;
  if (first <= Level::pipeline && map.find("stages")) return Level::pipeline;
  return Level::stage;
}

std::optional<Level> level_of(const std::string& key) {
  for (int level = 0; level < plan_keys::kLevels; ++level)
    if (plan_keys::contains(plan_keys::own_keys(static_cast<Level>(level)), key)) return static_cast<Level>(level);
  return std::nullopt;
}

std::string_view members_key(Level level) {
  switch (level) {
    case Level::plan:
      return "phases";
    case Level::phase:
      return "parts";
    case Level::part:
      return "pipelines";
    default:
      return "stages";
  }
}

std::vector<std::string> known_keys(Span span) {
  std::vector<std::string> known;
  for (int level = static_cast<int>(span.first); level <= static_cast<int>(span.last); ++level) {
    const auto& own = plan_keys::own_keys(static_cast<Level>(level));
    known.insert(known.end(), own.begin(), own.end());
  }
  const auto scope = plan_keys::scope_keys();
  known.insert(known.end(), scope.begin(), scope.end());
  return known;
}

void check_key(const std::string& key, const SourcePlace& place, Span span, Diagnostics& diagnostics) {
  const auto known = known_keys(span);
  if (plan_keys::contains(known, key)) return;
  const auto level = level_of(key);
  if (level && *level > span.last)
    diagnostics.add(
        place, fmt::format("`{}` belongs to {}: write it in each of `{}`", key, name(*level), members_key(span.last)));
  else if (level)
    diagnostics.add(place, fmt::format("`{}` belongs to {}, not to {}", key, name(*level), name(span.first)));
  else if (plan_keys::contains(plan_keys::short_keys(), key))
    diagnostics.add(place, fmt::format("`{}` belongs to the short form, which has none of layout, stages, pipelines, "
                                       "parts and phases",
                                       key));
  else
    diagnostics.add(place, unknown_name("key", key, known));
}

/// False, with a line, unless the value is a map; reports keys that do not belong there.
bool is_level(const ConfigValue& value, Span span, Diagnostics& diagnostics) {
  if (value.kind != Kind::map) {
    add_expected(value, fmt::format("{}: a map", name(span.first)), diagnostics);
    return false;
  }
  for (const auto& [key, place] : value.keys) check_key(key, place, span, diagnostics);
  return true;
}

/// False, with a line, unless the value is a list with members.
bool is_filled_list(const ConfigValue& value, std::string_view of, Diagnostics& diagnostics) {
  if (!is_list(value, of, diagnostics)) return false;
  if (value.items.empty()) diagnostics.add(value.place, fmt::format("no {}: the list is empty", of));
  return !value.items.empty();
}

/// The levels below read the same map where theirs is left out; only the outermost takes what may stand on every level.
class LongForm {
 public:
  explicit LongForm(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  SymbolicPlan plan(const ConfigValue& value) {
    SymbolicPlan plan;
    plan.scope = scope_of(value, Level::plan);
    if (const ConfigValue* given = value.find("switch")) plan.plan_switch = plan_switch(*given);
    if (const ConfigValue* phases = value.find("phases")) {
      if (is_filled_list(*phases, "phases", diagnostics_))
        for (const ConfigValue& item : phases->items) plan.phases.push_back(phase(item, true));
    } else {
      plan.phases.push_back(phase(value, false));
    }
    return plan;
  }

 private:
  Scope scope_of(const ConfigValue& value, Level level) {
    if (!is_level(value, {level, last_level(value, level)}, diagnostics_)) return {};
    return read_scope(value, diagnostics_);
  }
  /// A left-out level remembers the map for its own keys.
  Scope scope_of(const ConfigValue& value, Level level, bool own) {
    if (own) return scope_of(value, level);
    Scope scope;
    scope.written = written(value);
    return scope;
  }

  PlanSwitch plan_switch(const ConfigValue& value) {
    PlanSwitch result;
    if (!is_map_of(value, {"mode", "delay"}, diagnostics_)) return result;
    if (const ConfigValue* mode = value.find("mode"))
      result.mode = word_of<SwitchMode>(*mode, diagnostics_).value_or(SwitchMode::stop);
    if (const ConfigValue* delay = value.find("delay"))
      if (check(*delay, schema::quantity(Dimension::seconds, between(0, 1e9), ""), diagnostics_))
        result.delay = View(*delay).quantity<Seconds>();
    return result;
  }

  SymbolicPhase phase(const ConfigValue& value, bool own) {
    SymbolicPhase phase;
    phase.scope = scope_of(value, Level::phase, own);
    if (const ConfigValue* iterations = value.find("iterations"))
      phase.iterations = read_range(*iterations, diagnostics_);
    const ConfigValue* parts = value.find("parts");
    if (!parts) {
      phase.parts.push_back(part(value, "", false));
    } else if (parts->kind != Kind::map) {
      add_expected(*parts, "parts by the name of their pass, such as {encoder: {..}, train: {..}}", diagnostics_);
    } else {
      for (std::size_t i = 0; i < parts->items.size(); ++i)
        phase.parts.push_back(part(parts->items[i], parts->keys[i].first, true));
    }
    return phase;
  }

  SymbolicPart part(const ConfigValue& value, const std::string& pass, bool own) {
    SymbolicPart part;
    part.scope = scope_of(value, Level::part, own);
    part.pass = pass;
    if (const ConfigValue* order = value.find("order")) part.order = read_order(*order, diagnostics_);
    if (const ConfigValue* given = value.find("batching")) part.batching = batching(*given);
    if (const ConfigValue* given = value.find("dispatch")) part.dispatch = dispatch(*given);
    if (const ConfigValue* stages = stages_as(value, Kind::map))
      for (std::size_t i = 0; i < stages->items.size(); ++i)
        part.named_stages.push_back(stage(stages->items[i], stages->keys[i].first, true));
    part.pipelines = pipelines(value, !part.named_stages.empty());
    return part;
  }

  std::vector<SymbolicPipeline> pipelines(const ConfigValue& value, bool has_named_stages) {
    std::vector<SymbolicPipeline> all;
    const ConfigValue* given = value.find("pipelines");
    if (given) {
      if (is_filled_list(*given, "pipelines", diagnostics_))
        for (const ConfigValue& item : given->items) all.push_back(pipeline(item, has_named_stages, true));
    } else if (!has_named_stages || value.find("batch") || value.find("samples") || value.find("micro_batches")) {
      all.push_back(pipeline(value, has_named_stages, false));
    }
    return all;
  }

  SymbolicPipeline pipeline(const ConfigValue& value, bool has_named_stages, bool own) {
    SymbolicPipeline pipeline;
    pipeline.scope = scope_of(value, Level::pipeline, own);
    if (const ConfigValue* v = value.find("batch")) pipeline.batch = number_above_zero(*v, diagnostics_);
    if (const ConfigValue* v = value.find("micro_batches"))
      pipeline.micro_batches = integer(*v, 1, kMost, diagnostics_);
    if (const ConfigValue* v = value.find("samples"); v && is_list(*v, "samples by their index", diagnostics_))
      for (const ConfigValue& item : v->items)
        if (const auto sample = integer(item, 0, kMost, diagnostics_)) pipeline.samples.push_back(*sample);
    if (const ConfigValue* stages = stages_as(value, Kind::list)) {
      if (is_filled_list(*stages, "stages", diagnostics_))
        for (const ConfigValue& item : stages->items) pipeline.stages.push_back(stage_or_name(item));
    } else if (const ConfigValue* other = value.find("stages"); other && (own || other->kind != Kind::map)) {
      add_expected(*other, "a list of stages or of their names", diagnostics_);
    } else if (!has_named_stages) {
      pipeline.stages.emplace_back(stage(value, "", false));
    }
    return pipeline;
  }

  std::variant<std::string, SymbolicStage> stage_or_name(const ConfigValue& item) {
    if (item.kind == Kind::scalar) return item.scalar;
    return stage(item, "", true);
  }

  SymbolicStage stage(const ConfigValue& value, const std::string& name, bool own) {
    SymbolicStage stage;
    stage.scope = scope_of(value, Level::stage, own);
    stage.name = name;
    if (const ConfigValue* layers = value.find("layers")) stage.chunks.push_back(read_layers(*layers, diagnostics_));
    if (const ConfigValue* chunks = value.find("chunks")) {
      if (!stage.chunks.empty())
        diagnostics_.add(chunks->place, "`chunks` beside `layers`: one of the two says what the stage holds");
      if (is_list(*chunks, "layer sets", diagnostics_))
        for (const ConfigValue& chunk : chunks->items) stage.chunks.push_back(read_layers(chunk, diagnostics_));
    }
    if (const ConfigValue* depth = value.find("in_flight")) stage.in_flight = integer(*depth, 1, kMost, diagnostics_);
    return stage;
  }

  std::optional<Batching> batching(const ConfigValue& value) {
    if (!is_map_of(value, {"sequences", "tokens"}, diagnostics_)) return std::nullopt;
    Batching result;
    if (const ConfigValue* v = value.find("sequences"))
      result.sequences = integer(*v, 1, kMost, diagnostics_).value_or(0);
    if (const ConfigValue* v = value.find("tokens")) result.tokens = integer(*v, 1, kMost, diagnostics_).value_or(0);
    return result;
  }

  std::optional<Dispatch> dispatch(const ConfigValue& value) {
    Dispatch result;
    if (value.kind != Kind::list) {
      const auto kind = choice(value, dispatch_names(), diagnostics_);
      result.kind = kind.value_or(result.kind);
      return result;
    }
    result.kind = "shares";
    for (const ConfigValue& item : value.items)
      if (const auto share = number_above_zero(item, diagnostics_)) result.shares.push_back(*share);
    return result;
  }

  Diagnostics& diagnostics_;
};

bool has_any(const ConfigValue& value, const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [&](const std::string& key) { return value.find(key) != nullptr; });
}

std::vector<std::string> all_short_keys() {
  std::vector<std::string> keys = plan_keys::short_keys();
  keys.insert(keys.end(), {"chunks", "layers", "devices"});
  for (const std::string& key : plan_keys::setting_keys())
    if (key != "layout") keys.push_back(key);
  return keys;
}

/// Layers of the short form are counts or `even`; chunks a number.
bool is_short(const ConfigValue& value) {
  if (has_any(value, {"layout", "stages", "pipelines", "parts", "phases"})) return false;
  if (has_any(value, plan_keys::short_keys())) return true;
  const ConfigValue* chunks = value.find("chunks");
  if (chunks && chunks->kind == Kind::list) return false;
  return !has_any(value, {"batch", "samples", "micro_batches", "order", "batching", "dispatch", "iterations",
                          "in_flight", "rules", "switch"});
}

SymbolicPlan read_short(const ConfigValue& value, Diagnostics& diagnostics) {
  const auto known = all_short_keys();
  for (const auto& [key, place] : value.keys) {
    if (plan_keys::contains(known, key)) continue;
    if (key == "rules" || level_of(key))
      diagnostics.add(place, fmt::format("`{}` belongs to the long form, which gives `layout` in place of {}", key,
                                         "tensor, data, pipeline and the like"));
    else
      diagnostics.add(place, unknown_name("key", key, known));
  }
  SymbolicPlan plan;
  plan.scope = read_scope(value, diagnostics);
  plan.scope.rules.clear();
  plan.short_form = read_short_form(value, diagnostics);
  return plan;
}

}  // namespace

SymbolicPlan read_plan(const ConfigValue& value, Diagnostics& diagnostics) {
  if (value.kind != Kind::map) {
    add_expected(value, "a Plan: a map such as {tensor: 8, data: 2}, or {layout: [data: 16]}", diagnostics);
    return {};
  }
  return is_short(value) ? read_short(value, diagnostics) : LongForm(diagnostics).plan(value);
}

}  // namespace trainyard
