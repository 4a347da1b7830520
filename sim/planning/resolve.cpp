// SymbolicPlan -> Plan: ids for names, settings of every level as rules of the stages, defaults.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/config/schema.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/planning/plan_names.hpp"
#include "sim/planning/plan_text.hpp"

namespace trainyard {
namespace {

using plan_names::place_of;

/// One level's scope with ids.
struct ResolvedScope {
  std::vector<DeviceId> devices;
  Settings settings;
  std::vector<Rule> rules;
};
/// The scopes around a level, outer first.
using Scopes = std::vector<const Scope*>;

std::vector<std::string> pass_names(const Workload& workload) {
  std::vector<std::string> names;
  for (const Pass& pass : workload.passes) names.push_back(pass.name);
  return names;
}

class Resolution {
 public:
  Resolution(const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics)
      : cluster_(cluster), workload_(workload), diagnostics_(diagnostics), names_(cluster) {}

  Plan short_form(const SymbolicPlan& plan) {
    const ShortForm& form = *plan.short_form;
    ShortPlan sizes;
    sizes.tensor = form.tensor.value_or(1);
    sizes.context = form.context.value_or(1);
    sizes.expert = form.expert.value_or(1);
    sizes.expert_tensor = form.expert_tensor.value_or(1);
    sizes.data = form.data.value_or(1);
    sizes.pipeline = form.pipeline.value_or(1);
    sizes.chunks = form.chunks.value_or(1);
    sizes.shard = form.shard.value_or(1);
    sizes.micro_batch = form.micro_batch.value_or(1);
    sizes.schedule = form.schedule.value_or("1f1b");
    sizes.layers = form.layers;
    sizes.rank_order = form.rank_order;
    const std::size_t before = diagnostics_.all().size();
    sizes.devices = names_.ids(plan.scope.devices, place_of(plan.scope.written, "devices"), diagnostics_);
    sizes.settings = settings(plan.scope.settings, plan.scope.written);
    if (diagnostics_.all().size() > before) return {};
    Expanded expanded = expand(sizes, cluster_, workload_);
    if (!expanded.why_not.empty()) diagnostics_.add(place_of(plan.scope.written, expanded.key), expanded.why_not);
    return std::move(expanded.plan);
  }

  Plan long_form(const SymbolicPlan& plan) {
    Plan result;
    if (plan.plan_switch) {
      result.switch_mode = plan.plan_switch->mode;
      result.switch_delay = plan.plan_switch->delay;
    }
    for (const SymbolicPhase& phase : plan.phases) result.phases.push_back(resolve_phase(phase, {&plan.scope}));
    return result;
  }

 private:
  PlanPhase resolve_phase(const SymbolicPhase& phase, Scopes scopes) {
    scopes.push_back(&phase.scope);
    PlanPhase result;
    if (phase.iterations) {
      result.iterations = {phase.iterations->first, phase.iterations->last};
      if (phase.iterations->step != 1)
        diagnostics_.add(place_of(phase.scope.written, "iterations"),
                         "iterations of a phase follow each other: no step");
    }
    for (const SymbolicPart& part : phase.parts) {
      const auto pass = plan_names::find_pass(workload_, part.pass);
      if (pass)
        resolve_part(part, *pass, scopes, result);
      else
        no_pass(part);
    }
    return result;
  }

  void no_pass(const SymbolicPart& part) {
    diagnostics_.add(place_of(part.scope.written),
                     part.pass.empty()
                         ? fmt::format("the workload has the passes {}: write `parts` with a part for each",
                                       fmt::join(pass_names(workload_), ", "))
                         : unknown_name("pass", part.pass, pass_names(workload_)));
  }

  void resolve_part(const SymbolicPart& part, PassId pass, Scopes scopes, PlanPhase& phase) {
    scopes.push_back(&part.scope);
    module_ = &workload_.modules[index(workload_.passes[index(pass)].module)];
    Part result;
    result.pass = pass;
    result.batching = part.batching;
    result.dispatch = part.dispatch.value_or(Dispatch{});
    for (const SymbolicStage& stage : part.named_stages)
      result.stages.push_back(resolve_stage(stage, scopes, part.named_stages.size() == 1));
    std::vector<SymbolicPipeline> pipelines = part.pipelines;
    const bool through_all = pipelines.empty() && result.dispatch.kind != "shortest_path";
    if (through_all) pipelines.emplace_back().scope.written = part.scope.written;
    for (const SymbolicPipeline& pipeline : pipelines) {
      const double others = static_cast<double>(pipelines.size());
      result.pipelines.push_back(resolve_pipeline(pipeline, scopes, others, part, result));
    }
    cache_.clear();
    if (part.order) resolve_order(*part.order, part, result, phase);
    phase.parts.push_back(std::move(result));
  }

  Pipeline resolve_pipeline(const SymbolicPipeline& pipeline, Scopes scopes, double pipelines,
                            const SymbolicPart& around, Part& part) {
    scopes.push_back(&pipeline.scope);
    Pipeline result;
    result.samples = pipeline.samples;
    result.micro_batches = pipeline.micro_batches.value_or(1);
    if (!part.batching) result.batch = batch_of(pipeline, pipelines);
    for (const auto& entry : pipeline.stages) {
      if (const auto* name = std::get_if<std::string>(&entry)) {
        add_named(*name, pipeline, around, result);
        continue;
      }
      result.stages.push_back(id_at<StageId>(part.stages.size()));
      part.stages.push_back(resolve_stage(std::get<SymbolicStage>(entry), scopes, pipeline.stages.size() == 1));
    }
    if (pipeline.stages.empty())
      for (std::size_t s = 0; s < around.named_stages.size(); ++s) result.stages.push_back(id_at<StageId>(s));
    return result;
  }

  double batch_of(const SymbolicPipeline& pipeline, double pipelines) {
    if (pipeline.batch) return *pipeline.batch;
    if (!pipeline.samples.empty()) return static_cast<double>(pipeline.samples.size());
    const double batch = workload_.global_batch / pipelines;
    if (batch != std::floor(batch))
      diagnostics_.add(place_of(pipeline.scope.written),
                       fmt::format("the global batch of {} does not divide over {} pipelines: give each its `batch`",
                                   workload_.global_batch, pipelines));
    return batch;
  }

  void add_named(const std::string& name, const SymbolicPipeline& pipeline, const SymbolicPart& around,
                 Pipeline& result) {
    const auto found = std::ranges::find(around.named_stages, name, &SymbolicStage::name);
    if (found != around.named_stages.end()) {
      result.stages.push_back(id_at<StageId>(static_cast<std::size_t>(found - around.named_stages.begin())));
      return;
    }
    std::vector<std::string> known;
    for (const SymbolicStage& stage : around.named_stages) known.push_back(stage.name);
    diagnostics_.add(place_of(pipeline.scope.written, "stages"), unknown_name("stage", name, known));
  }

  Stage resolve_stage(const SymbolicStage& stage, Scopes scopes, bool only_one) {
    scopes.push_back(&stage.scope);
    Stage result;
    result.name = stage.name;
    result.in_flight = stage.in_flight;
    result.chunks = chunks_of(stage, only_one);
    Rule plain;
    std::vector<Rule> rules;
    for (const Scope* scope : scopes) {
      const ResolvedScope& resolved = resolve_scope(*scope);
      if (!resolved.devices.empty()) result.devices = resolved.devices;
      overlay(plain.settings, resolved.settings);
      for (const Rule& rule : resolved.rules)
        if (const auto cut = cut_to(rule, result)) rules.push_back(*cut);
    }
    if (result.devices.empty()) result.devices = cluster_.gpus();
    if (!plain.settings.layout)
      plain.settings.layout = {equal_axis(AxisKind::data, std::max(1, static_cast<int>(result.devices.size())))};
    result.rules.push_back(std::move(plain));
    result.rules.insert(result.rules.end(), rules.begin(), rules.end());
    return result;
  }

  std::vector<std::vector<LayerId>> chunks_of(const SymbolicStage& stage, bool only_one) {
    std::vector<std::vector<LayerId>> chunks;
    const bool plural = stage.chunks.size() > 1;
    for (const LayerSet& chunk : stage.chunks)
      chunks.push_back(plan_names::layer_ids(
          chunk, *module_, place_of(stage.scope.written, plural ? "chunks" : "layers"), diagnostics_));
    if (!chunks.empty()) return chunks;
    if (!only_one)
      diagnostics_.add(place_of(stage.scope.written),
                       "`layers` is missing: a pipeline of several stages says what each holds");
    chunks.emplace_back();
    for (std::size_t l = 0; l < module_->layers.size(); ++l) chunks.back().push_back(id_at<LayerId>(l));
    return chunks;
  }

  /// The part of a rule that concerns a stage; nothing where none does. A rule for all its layers names none.
  static std::optional<Rule> cut_to(const Rule& rule, const Stage& stage) {
    if (rule.layers.empty()) return rule;
    Rule result = rule;
    result.layers.clear();
    std::size_t held = 0;
    for (const auto& chunk : stage.chunks)
      for (const LayerId layer : chunk) {
        ++held;
        if (std::ranges::find(rule.layers, layer) != rule.layers.end()) result.layers.push_back(layer);
      }
    if (result.layers.empty()) return std::nullopt;
    if (result.layers.size() == held) result.layers.clear();
    return result;
  }

  /// Once a scope, so that a mistake in it is reported once.
  const ResolvedScope& resolve_scope(const Scope& scope) {
    const auto [known, is_new] = cache_.try_emplace(&scope);
    if (!is_new) return known->second;
    ResolvedScope& result = known->second;
    result.devices = names_.ids(scope.devices, place_of(scope.written, "devices"), diagnostics_);
    result.settings = settings(scope.settings, scope.written);
    for (const SymbolicRule& rule : scope.rules) {
      Rule& with_ids = result.rules.emplace_back();
      with_ids.layers = plan_names::layer_ids(rule.layers, *module_, place_of(rule.written, "layers"), diagnostics_);
      with_ids.operators = operators_of(rule);
      with_ids.devices = names_.ids(rule.devices, place_of(rule.written, "devices"), diagnostics_);
      with_ids.settings = settings(rule.settings, rule.written);
    }
    return result;
  }

  /// The glob, with a line unless some operator of the workload's layers is in a group that it names.
  std::string operators_of(const SymbolicRule& rule) {
    if (rule.operators.empty()) return "";
    std::vector<std::string> groups;
    for (const LayerType& type : module_->types)
      for (const Operator& op : type.operators) {
        if (glob_matches(rule.operators, op.group) || glob_matches(rule.operators, op.name)) return rule.operators;
        if (std::ranges::find(groups, op.group) == groups.end()) groups.push_back(op.group);
      }
    diagnostics_.add(place_of(rule.written, "ops"), unknown_name("operator group", rule.operators, groups));
    return rule.operators;
  }

  Settings settings(const SymbolicSettings& symbolic, const Written& written) {
    Settings result = symbolic.other;
    if (symbolic.layout) result.layout = layout(*symbolic.layout, place_of(written, "layout"));
    for (const auto& [state, home] : symbolic.home)
      result.home[state] = {home.place, names_.ids(home.at, place_of(written, "home"), diagnostics_), home.buffers,
                            home.sliced};
    for (const ItemSet& items : symbolic.owners) {
      std::vector<int>& member = result.owners.emplace_back();
      for (const IndexRange& range : items)
        for (const int item : range.indices()) member.push_back(item);
    }
    return result;
  }

  Layout layout(const SymbolicLayout& symbolic, const SourcePlace& place) {
    Layout result;
    for (const SymbolicAxis& axis : symbolic) {
      if (const auto kind = from_word<AxisKind>(axis.name))
        result.push_back({*kind, axis.shares});
      else
        diagnostics_.add(place, unknown_name("axis", axis.name, word_list<AxisKind>()));
    }
    return result;
  }

  void resolve_order(const SymbolicOrder& order, const SymbolicPart& part, Part& result, PlanPhase& phase) {
    if (const auto* name = std::get_if<std::string>(&order)) {
      result.schedule = *name;
      return;
    }
    const auto& table = std::get<1>(order);
    const SourcePlace place = place_of(part.scope.written, "order");
    result.schedule = "table";
    if (table.size() != result.stages.size()) {
      diagnostics_.add(place,
                       fmt::format("{} order tables for {} stages: one each", table.size(), result.stages.size()));
      return;
    }
    for (std::size_t s = 0; s < table.size(); ++s)
      for (const StreamOrder& stream : table[s])
        phase.lanes.push_back({result.stages[s].devices, stream.stream, entries(stream, result.pass, place)});
  }

  std::vector<Entry> entries(const StreamOrder& stream, PassId pass, const SourcePlace& place) {
    std::vector<Entry> result;
    for (const SymbolicEntry& entry : stream.entries) {
      Entry& with_ids = result.emplace_back();
      with_ids.operation = operation(entry.operation, pass, place);
      if (entry.not_before) with_ids.not_before = operation(*entry.not_before, pass, place);
    }
    return result;
  }

  Operation operation(const SymbolicOperation& symbolic, PassId own, const SourcePlace& place) {
    const auto pass = symbolic.pass.empty() ? std::optional(own) : plan_names::find_pass(workload_, symbolic.pass);
    if (!pass) diagnostics_.add(place, unknown_name("pass", symbolic.pass, pass_names(workload_)));
    return {symbolic.kind, pass.value_or(own), symbolic.micro_batch, symbolic.chunk};
  }

  const Cluster& cluster_;
  const Workload& workload_;
  Diagnostics& diagnostics_;
  plan_names::DeviceNames names_;
  const Module* module_ = nullptr;               ///< of the part at hand
  std::map<const Scope*, ResolvedScope> cache_;  ///< of the part at hand; looked up only
};

/// What stands on an outer level is looked at once a part; its mistakes are reported once.
void add_once(const Diagnostics& found, Diagnostics& diagnostics) {
  std::vector<Diagnostic> added;
  for (const Diagnostic& one : found.all()) {
    const bool known = std::ranges::any_of(added, [&](const Diagnostic& other) {
      return other.message == one.message && other.place.line == one.place.line &&
             other.place.column == one.place.column;
    });
    if (known) continue;
    added.push_back(one);
    diagnostics.add(one.place, one.message);
  }
}

}  // namespace

Plan resolve(const SymbolicPlan& plan, const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics) {
  Diagnostics found;
  Resolution resolution(cluster, workload, found);
  Plan result = plan.short_form ? resolution.short_form(plan) : resolution.long_form(plan);
  add_once(found, diagnostics);
  return result;
}

}  // namespace trainyard
