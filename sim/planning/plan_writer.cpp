// SymbolicPlan -> YAML and JSON: the levels of the tree. A level with one member and nothing of its own for everything
// below it is left out.
#include <fmt/format.h>

#include "sim/model/plan_words.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/plan_writing.hpp"

namespace trainyard {
namespace plan_writing {
namespace {

ConfigValue number(double value) { return scalar(fmt::format("{}", value)); }

void add_scope(ConfigValue& map, const Scope& scope) {
  if (!scope.devices.empty()) add(map, "devices", devices_value(scope.devices));
  add_settings(map, scope.settings);
  if (scope.rules.empty()) return;
  ConfigValue rules = list();
  for (const SymbolicRule& rule : scope.rules) {
    ConfigValue value = plan_writing::map();
    if (!rule.layers.empty()) add(value, "layers", layers_value(rule.layers));
    if (!rule.operators.empty()) add(value, "ops", scalar(rule.operators));
    if (!rule.devices.empty()) add(value, "devices", devices_value(rule.devices));
    add_settings(value, rule.settings);
    rules.items.push_back(value);
  }
  add(map, "rules", rules);
}

void add_stage_keys(ConfigValue& map, const SymbolicStage& stage) {
  if (stage.chunks.size() == 1) add(map, "layers", layers_value(stage.chunks[0]));
  if (stage.chunks.size() > 1) {
    ConfigValue chunks = list();
    for (const LayerSet& chunk : stage.chunks) {
      ConfigValue layers = list();
      for (const LayerPiece& piece : chunk) layers.items.push_back(scalar(to_text(piece)));
      chunks.items.push_back(layers);
    }
    add(map, "chunks", chunks);
  }
  if (stage.in_flight) add(map, "in_flight", number(*stage.in_flight));
}

ConfigValue stage_value(const SymbolicStage& stage) {
  ConfigValue value = map();
  if (!stage.scope.devices.empty()) add(value, "devices", devices_value(stage.scope.devices));
  add_stage_keys(value, stage);
  Scope rest = stage.scope;
  rest.devices.clear();
  add_scope(value, rest);
  return value;
}

/// The one stage of a pipeline that needs no level of its own.
const SymbolicStage* only_stage(const SymbolicPipeline& pipeline) {
  if (pipeline.stages.size() != 1) return nullptr;
  const auto* stage = std::get_if<SymbolicStage>(&pipeline.stages[0]);
  return stage && stage->scope == Scope{} && stage->name.empty() ? stage : nullptr;
}

void add_pipeline_keys(ConfigValue& map, const SymbolicPipeline& pipeline) {
  if (pipeline.batch) add(map, "batch", number(*pipeline.batch));
  if (!pipeline.samples.empty()) {
    ConfigValue samples = list();
    for (const int sample : pipeline.samples) samples.items.push_back(number(sample));
    add(map, "samples", samples);
  }
  if (pipeline.micro_batches) add(map, "micro_batches", number(*pipeline.micro_batches));
}

void add_stages(ConfigValue& map, const SymbolicPipeline& pipeline) {
  if (const SymbolicStage* stage = only_stage(pipeline)) return add_stage_keys(map, *stage);
  if (pipeline.stages.empty()) return;
  ConfigValue stages = list();
  for (const auto& entry : pipeline.stages) {
    const auto* name = std::get_if<std::string>(&entry);
    stages.items.push_back(name ? scalar(*name) : stage_value(std::get<SymbolicStage>(entry)));
  }
  add(map, "stages", stages);
}

ConfigValue pipeline_value(const SymbolicPipeline& pipeline) {
  ConfigValue value = map();
  add_pipeline_keys(value, pipeline);
  add_scope(value, pipeline.scope);
  add_stages(value, pipeline);
  return value;
}

/// Whether the part's one pipeline needs no level of its own. A list of stages cannot stand beside a map of stages;
/// without any key the pipeline itself would not be seen beside one.
bool leaves_pipeline_out(const SymbolicPart& part) {
  if (part.pipelines.size() != 1 || part.pipelines[0].scope != Scope{}) return false;
  const SymbolicPipeline& pipeline = part.pipelines[0];
  const bool has_keys = pipeline.batch || pipeline.micro_batches || !pipeline.samples.empty();
  return part.named_stages.empty() ? !pipeline.stages.empty() : pipeline.stages.empty() && has_keys;
}

/// A left-out level's keys stand around those of the level that stands in its place: own keys, scope, members.
void add_part(ConfigValue& map, const SymbolicPart& part, const Scope& scope) {
  const bool one = leaves_pipeline_out(part);
  if (part.order) add(map, "order", order_value(*part.order));
  if (part.batching) {
    ConfigValue batching = plan_writing::map();
    if (part.batching->sequences) add(batching, "sequences", number(part.batching->sequences));
    if (part.batching->tokens) add(batching, "tokens", number(part.batching->tokens));
    add(map, "batching", batching);
  }
  if (part.dispatch) {
    ConfigValue shares = list();
    for (const double share : part.dispatch->shares) shares.items.push_back(number(share));
    add(map, "dispatch", part.dispatch->shares.empty() ? scalar(part.dispatch->kind) : shares);
  }
  if (one) add_pipeline_keys(map, part.pipelines[0]);
  add_scope(map, scope);
  if (!part.named_stages.empty()) {
    ConfigValue stages = plan_writing::map();
    for (const SymbolicStage& stage : part.named_stages) {
      SymbolicStage unnamed = stage;
      unnamed.name.clear();
      add(stages, stage.name, stage_value(unnamed));
    }
    add(map, "stages", stages);
  }
  if (one) return add_stages(map, part.pipelines[0]);
  if (part.pipelines.empty()) return;
  ConfigValue pipelines = list();
  for (const SymbolicPipeline& pipeline : part.pipelines) pipelines.items.push_back(pipeline_value(pipeline));
  add(map, "pipelines", pipelines);
}

void add_phase(ConfigValue& map, const SymbolicPhase& phase, const Scope& scope) {
  if (phase.iterations) add(map, "iterations", scalar(to_text(*phase.iterations)));
  const bool one = phase.parts.size() == 1 && phase.parts[0].pass.empty() && phase.parts[0].scope == Scope{};
  if (one) return add_part(map, phase.parts[0], scope);
  add_scope(map, scope);
  ConfigValue parts = plan_writing::map();
  for (const SymbolicPart& part : phase.parts) {
    ConfigValue value = plan_writing::map();
    add_part(value, part, part.scope);
    add(parts, part.pass, value);
  }
  add(map, "parts", parts);
}

void add_long_form(ConfigValue& map, const SymbolicPlan& plan) {
  if (plan.plan_switch) {
    ConfigValue value = plan_writing::map();
    if (plan.plan_switch->mode != SwitchMode::stop)
      add(value, "mode", scalar(std::string(word(plan.plan_switch->mode))));
    if (plan.plan_switch->delay.value != 0)
      add(value, "delay", scalar(fmt::format("{} s", plan.plan_switch->delay.value)));
    add(map, "switch", value);
  }
  if (plan.phases.size() == 1 && plan.phases[0].scope == Scope{}) return add_phase(map, plan.phases[0], plan.scope);
  add_scope(map, plan.scope);
  ConfigValue phases = list();
  for (const SymbolicPhase& phase : plan.phases) {
    ConfigValue value = plan_writing::map();
    add_phase(value, phase, phase.scope);
    phases.items.push_back(value);
  }
  add(map, "phases", phases);
}

void add_size(ConfigValue& map, const char* key, std::optional<int> size) {
  if (size) add(map, key, number(*size));
}

void add_short_form(ConfigValue& map, const ShortForm& form) {
  add_size(map, "tensor", form.tensor);
  add_size(map, "context", form.context);
  add_size(map, "expert", form.expert);
  add_size(map, "expert_tensor", form.expert_tensor);
  add_size(map, "data", form.data);
  add_size(map, "pipeline", form.pipeline);
  add_size(map, "chunks", form.chunks);
  add_size(map, "shard", form.shard);
  if (form.micro_batch) add(map, "micro_batch", number(*form.micro_batch));
  if (form.schedule) add(map, "schedule", scalar(*form.schedule));
  ConfigValue layers = list(), rank_order = list();
  for (const int count : form.layers) layers.items.push_back(number(count));
  for (const std::string& axis : form.rank_order) rank_order.items.push_back(scalar(axis));
  if (!form.layers.empty()) add(map, "layers", layers);
  if (!form.rank_order.empty()) add(map, "rank_order", rank_order);
}

}  // namespace

ConfigValue plan_value(const SymbolicPlan& plan) {
  ConfigValue value = map();
  if (!plan.short_form) {
    add_long_form(value, plan);
    return value;
  }
  add_short_form(value, *plan.short_form);
  add_scope(value, plan.scope);
  return value;
}

}  // namespace plan_writing

std::string to_yaml(const SymbolicPlan& plan) { return plan_writing::yaml_text(plan_writing::plan_value(plan)); }
std::string to_json(const SymbolicPlan& plan) { return plan_writing::json_text(plan_writing::plan_value(plan)); }

}  // namespace trainyard
