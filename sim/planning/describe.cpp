// Plan -> SymbolicPlan: names for ids, compressed sets; what all stages say alike stands once, at the top.
#include <algorithm>

#include "sim/model/plan_words.hpp"
#include "sim/planning/plan_names.hpp"
#include "sim/planning/plan_text.hpp"

namespace trainyard {
namespace {

/// `table` where the operators are tables, else `expert`.
std::string axis_name(AxisKind kind, const std::string& operators) {
  const bool tables = kind == AxisKind::items && operators.find("table") != std::string::npos;
  return tables ? "table" : std::string(word(kind));
}

ItemSet item_set(const std::vector<int>& items) {
  ItemSet set;
  for (const int item : items) {
    if (!set.empty() && set.back().last + 1 == item)
      set.back().last = item;
    else
      set.push_back({item, item, 1});
  }
  return set;
}

class Description {
 public:
  Description(const Cluster& cluster, const Workload& workload) : workload_(workload), names_(cluster) {}

  SymbolicPlan plan(const Plan& plan) {
    SymbolicPlan result;
    if (plan.switch_mode != SwitchMode::stop || plan.switch_delay != Seconds{})
      result.plan_switch = PlanSwitch{plan.switch_mode, plan.switch_delay};
    for (const PlanPhase& phase : plan.phases) result.phases.push_back(describe_phase(phase));
    const bool one_part = result.phases.size() == 1 && result.phases[0].parts.size() == 1;
    if (one_part) lift(result, result.phases[0].parts[0]);
    return result;
  }

 private:
  SymbolicPhase describe_phase(const PlanPhase& phase) {
    SymbolicPhase result;
    if (phase.iterations != IterationRange{})
      result.iterations = IndexRange{phase.iterations.first, phase.iterations.last, 1};
    for (const Part& part : phase.parts) {
      SymbolicPart& described = result.parts.emplace_back(describe_part(part));
      const bool named = phase.parts.size() > 1 || plan_names::find_pass(workload_, "") != part.pass;
      if (named) described.pass = workload_.passes[index(part.pass)].name;
      if (part.schedule == "table") described.order = table(phase, part);
    }
    return result;
  }

  /// Stages that have a name, and those that several pipelines pass through, stand in the part's map.
  SymbolicPart describe_part(const Part& part) {
    module_ = &workload_.modules[index(workload_.passes[index(part.pass)].module)];
    SymbolicPart result;
    if (part.schedule != "table") result.order = SymbolicOrder(part.schedule);
    result.batching = part.batching;
    if (part.dispatch != Dispatch{}) result.dispatch = part.dispatch;
    const std::vector<std::string> names = stage_names(part);
    for (std::size_t s = 0; s < part.stages.size(); ++s)
      if (!names[s].empty()) result.named_stages.push_back(describe_stage(part.stages[s], names[s]));
    for (const Pipeline& pipeline : part.pipelines)
      result.pipelines.push_back(describe_pipeline(pipeline, part, names));
    return result;
  }

  static std::vector<std::string> stage_names(const Part& part) {
    std::vector<int> uses(part.stages.size(), 0);
    for (const Pipeline& pipeline : part.pipelines)
      for (const StageId stage : pipeline.stages) ++uses[index(stage)];
    std::vector<std::string> names;
    for (std::size_t s = 0; s < part.stages.size(); ++s) {
      const bool needs_one = uses[s] != 1 && part.stages[s].name.empty();
      names.push_back(needs_one ? "s" + std::to_string(s) : part.stages[s].name);
    }
    return names;
  }

  SymbolicPipeline describe_pipeline(const Pipeline& pipeline, const Part& part,
                                     const std::vector<std::string>& names) {
    SymbolicPipeline result;
    if (!part.batching && pipeline.samples.empty()) result.batch = pipeline.batch;
    result.samples = pipeline.samples;
    result.micro_batches = pipeline.micro_batches;
    for (const StageId id : pipeline.stages) {
      if (names[index(id)].empty())
        result.stages.emplace_back(describe_stage(part.stages[index(id)], ""));
      else
        result.stages.emplace_back(names[index(id)]);
    }
    return result;
  }

  SymbolicStage describe_stage(const Stage& stage, const std::string& name) {
    SymbolicStage result;
    result.name = name;
    result.in_flight = stage.in_flight;
    result.scope.devices = names_.set(stage.devices);
    for (const auto& chunk : stage.chunks) result.chunks.push_back(plan_names::layer_set(chunk, *module_));
    for (std::size_t r = 0; r < stage.rules.size(); ++r) {
      const Rule& rule = stage.rules[r];
      const bool plain = r == 0 && rule.layers.empty() && rule.operators.empty() && rule.devices.empty();
      if (plain)
        result.scope.settings = settings(rule.settings, "");
      else
        result.scope.rules.push_back(describe_rule(rule));
    }
    return result;
  }

  SymbolicRule describe_rule(const Rule& rule) {
    SymbolicRule result;
    result.layers = plan_names::layer_set(rule.layers, *module_);
    result.operators = rule.operators;
    result.devices = names_.set(rule.devices);
    result.settings = settings(rule.settings, rule.operators);
    return result;
  }

  SymbolicSettings settings(const Settings& with_ids, const std::string& operators) {
    SymbolicSettings result;
    result.other = with_ids;
    result.other.layout.reset();
    result.other.home.clear();
    result.other.owners.clear();
    if (with_ids.layout) {
      result.layout.emplace();
      for (const Axis& axis : *with_ids.layout)
        result.layout->push_back({axis_name(axis.kind, operators), axis.shares});
    }
    for (const auto& [state, home] : with_ids.home)
      result.home[state] = {home.place, names_.set(home.at), home.buffers, home.sliced};
    for (const auto& items : with_ids.owners) result.owners.push_back(item_set(items));
    return result;
  }

  SymbolicOrder table(const PlanPhase& phase, const Part& part) {
    std::vector<std::vector<StreamOrder>> stages(part.stages.size());
    for (const Lane& lane : phase.lanes)
      for (std::size_t s = 0; s < part.stages.size(); ++s)
        if (part.stages[s].devices == lane.devices) {
          stages[s].push_back({lane.stream, entries(lane, part.pass)});
          break;
        }
    return stages;
  }

  std::vector<SymbolicEntry> entries(const Lane& lane, PassId own) {
    std::vector<SymbolicEntry> result;
    for (const Entry& entry : lane.entries) {
      SymbolicEntry& named = result.emplace_back();
      named.operation = operation(entry.operation, own);
      if (entry.not_before) named.not_before = operation(*entry.not_before, own);
    }
    return result;
  }

  SymbolicOperation operation(const Operation& with_id, PassId own) {
    const std::string pass = with_id.pass == own ? "" : workload_.passes[index(with_id.pass)].name;
    return {pass, with_id.kind, with_id.micro_batch, with_id.chunk};
  }

  static std::vector<SymbolicStage*> stages_of(SymbolicPart& part) {
    std::vector<SymbolicStage*> stages;
    for (SymbolicStage& stage : part.named_stages) stages.push_back(&stage);
    for (SymbolicPipeline& pipeline : part.pipelines)
      for (auto& entry : pipeline.stages)
        if (auto* stage = std::get_if<SymbolicStage>(&entry)) stages.push_back(stage);
    return stages;
  }

  /// One key that all stages give alike.
  template <class Key>
  static void lift_key(SymbolicSettings& top, const std::vector<SymbolicStage*>& stages, Key key) {
    const auto value = key(stages.front()->scope.settings);
    for (const SymbolicStage* stage : stages)
      if (key(stage->scope.settings) != value) return;
    key(top) = value;
    for (SymbolicStage* stage : stages) key(stage->scope.settings) = {};
  }

  static void lift(SymbolicPlan& plan, SymbolicPart& part) {
    const auto stages = stages_of(part);
    if (stages.empty()) return;
    SymbolicSettings& top = plan.scope.settings;
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.layout; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.zero; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.regather; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.recompute; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.home; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.update; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.sync; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.wire; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.slices; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.streams; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.context_kind; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.sequence_parallel; });
    lift_key(
        top, stages, [](auto& s) -> auto& { return s.other.redundant_forward; });
    lift_rules(plan.scope, stages);
  }

  /// Rules without layers that all stages have alike.
  static void lift_rules(Scope& top, const std::vector<SymbolicStage*>& stages) {
    const auto rules = stages.front()->scope.rules;
    const bool alike = std::ranges::all_of(stages, [&](const SymbolicStage* s) { return s->scope.rules == rules; });
    const bool for_all = std::ranges::all_of(rules, [](const SymbolicRule& rule) { return rule.layers.empty(); });
    if (!alike || !for_all) return;
    top.rules = rules;
    for (SymbolicStage* stage : stages) stage->scope.rules.clear();
  }

  const Workload& workload_;
  plan_names::DeviceNames names_;
  const Module* module_ = nullptr;  ///< of the part at hand
};

}  // namespace

SymbolicPlan describe(const Plan& plan, const Cluster& cluster, const Workload& workload) {
  return Description(cluster, workload).plan(plan);
}

}  // namespace trainyard
