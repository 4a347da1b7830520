// A Plan of equal stages as settings, or the construct that such settings cannot hold.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/model/plan_words.hpp"
#include "sim/planning/plan_names.hpp"
#include "sim/scenario/launch/scenario_settings.hpp"

namespace trainyard::launch {
namespace {

std::string truth(bool value) { return value ? "true" : "false"; }
std::string whole(double value) { return fmt::format("{:.0f}", value); }

const Part& part_of(const Plan& plan) { return plan.phases.front().parts.front(); }

/// A shape that is one pipeline of equal stages.
std::string shape_problem(const Plan& plan) {
  if (plan.phases.size() != 1 || plan.phases[0].iterations != IterationRange{}) return "several `phases`";
  if (plan.phases[0].parts.size() != 1) return "several `parts`";
  if (!plan.phases[0].lanes.empty()) return "`order` as a table";
  const Part& part = part_of(plan);
  if (part.batching || part.dispatch != Dispatch{}) return "serving (`batching`, `dispatch`)";
  if (part.pipelines.size() != 1)
    return fmt::format("{} pipelines that differ in depth, devices or batch", part.pipelines.size());
  if (part.pipelines[0].stages.size() != part.stages.size()) return "stages outside the pipeline";
  if (!part.pipelines[0].samples.empty()) return "`samples` of a pipeline";
  for (const Stage& stage : part.stages) {
    if (stage.in_flight) return "`in_flight`";
    if (stage.chunks.size() != part.stages[0].chunks.size()) return "stages with different numbers of chunks";
    if (stage.devices.size() != part.stages[0].devices.size()) return "stages on different numbers of devices";
  }
  return "";
}

std::string device_problem(const Plan& plan, const Cluster& cluster) {
  std::set<std::string> types;
  std::set<DeviceId> seen;
  for (const Stage& stage : part_of(plan).stages)
    for (const DeviceId device : stage.devices) {
      types.insert(cluster.type_of(device).name);
      if (!seen.insert(device).second) return "a device in several stages";
    }
  return types.size() > 1 ? fmt::format("mixed GPUs ({})", fmt::join(types, ", ")) : "";
}

/// What settings of a stage have no key for.
std::string setting_problem(const trainyard::Settings& s) {
  if (s.update != Update::end) return "`update` other than at the end";
  if (s.sync != Sync{}) return "`sync` other than gradients in every step";
  if (s.wire != Wire{}) return "`wire`";
  if (s.slices != Slices{}) return "`slices`";
  if (!s.owners.empty()) return "`owners`";
  for (const Axis& axis : *s.layout) {
    const bool known = axis.kind == AxisKind::data || axis.kind == AxisKind::shard || axis.kind == AxisKind::context ||
                       axis.kind == AxisKind::tensor;
    if (!known && axis.size() > 1) return fmt::format("a `{}` axis", word(axis.kind));
    if (std::ranges::any_of(axis.shares, [&](double share) { return share != axis.shares.front(); }))
      return fmt::format("unequal shares of the `{}` axis", word(axis.kind));
  }
  for (const auto& [state, home] : s.home)
    if (home.place == Place::devices || home.buffers != 0 || home.sliced)
      return fmt::format("`home` of {} on other devices or in slots", word(state));
  return "";
}

/// Layouts whose axes stand in the order of ranks: data, shard, context, tensor.
bool in_rank_order(const Layout& layout) {
  int last = -1;
  for (const Axis& axis : layout) {
    if (axis.size() == 1) continue;
    const int place = axis.kind == AxisKind::data      ? 0
                      : axis.kind == AxisKind::shard   ? 1
                      : axis.kind == AxisKind::context ? 2
                                                       : 3;
    if (place <= last) return false;
    last = place;
  }
  return true;
}

class PlanReader {
 public:
  PlanReader(const Plan& plan, const Cluster& cluster, const Workload& workload)
      : plan_(plan), cluster_(cluster), workload_(workload) {}

  std::string read(launch::Settings& into) {
    if (std::string why = shape_problem(plan_); !why.empty()) return why;
    if (std::string why = device_problem(plan_, cluster_); !why.empty()) return why;
    const Part& part = part_of(plan_);
    common_ = settings_of(part.stages[0], first_layer(part.stages[0]), workload_);
    if (std::string why = setting_problem(common_); !why.empty()) return why;
    if (!in_rank_order(*common_.layout)) return "axes in another order than data, shard, context, tensor";
    for (const Stage& stage : part.stages)
      if (std::string why = stage_problem(stage); !why.empty()) return why;
    sizes(into);
    if (std::string why = layers(into); !why.empty()) return why;
    return recompute(into);
  }

 private:
  static LayerId first_layer(const Stage& stage) {
    return stage.chunks.empty() || stage.chunks[0].empty() ? LayerId{} : stage.chunks[0][0];
  }

  std::string stage_problem(const Stage& stage) const {
    for (const Rule& rule : stage.rules) {
      if (!rule.devices.empty() || (!rule.operators.empty() && rule.operators != "experts"))
        return fmt::format("a rule for operators (`{}`)", rule.operators);
      if (!rule.operators.empty())
        if (std::string why = experts_problem(stage, rule); !why.empty()) return why;
    }
    for (const auto& chunk : stage.chunks)
      for (const LayerId layer : chunk) {
        trainyard::Settings here = settings_of(stage, layer, workload_);
        here.recompute = common_.recompute;
        if (here != common_) return "settings that differ between layers";
      }
    return "";
  }

  /// Experts have a layout of their own, the same in all stages, with whole ranks of neighbours.
  std::string experts_problem(const Stage& stage, const Rule& rule) const {
    trainyard::Settings rest = rule.settings;
    rest.layout.reset();
    if (!rule.settings.layout || !rest.owners.empty()) return "a rule for experts that says more than `layout`";
    const Layout& layout = *rule.settings.layout;
    const int ranks = axis_size(layout, AxisKind::items), slices = axis_size(layout, AxisKind::tensor);
    const Layout usual{equal_axis(AxisKind::data, int(stage.devices.size()) / (ranks * slices)), equal_axis(AxisKind::items, ranks),
                       equal_axis(AxisKind::tensor, slices)};
    const auto without_ones = [](Layout of) {
      std::erase_if(of, [](const Axis& axis) { return axis.size() == 1; });
      return of;
    };
    if (without_ones(layout) != without_ones(usual)) return "experts in another order than data, expert, tensor";
    return ranks == expert_ranks() && slices == expert_slices() ? "" : "experts laid out differently from stage to stage";
  }

  int expert_ranks() const { return size_of_experts(AxisKind::items); }
  int expert_slices() const { return size_of_experts(AxisKind::tensor); }

  /// Of the first stage that has a layout of experts.
  int size_of_experts(AxisKind kind) const {
    for (const Stage& stage : part_of(plan_).stages)
      for (const Rule& rule : stage.rules)
        if (rule.operators == "experts" && rule.settings.layout) return axis_size(*rule.settings.layout, kind);
    return 1;
  }

  void sizes(launch::Settings& s) const {
    const Part& part = part_of(plan_);
    const Layout& layout = *common_.layout;
    for (const auto& [key, kind] :
         {std::pair("plan.data", AxisKind::data), std::pair("plan.shard", AxisKind::shard),
          std::pair("plan.context", AxisKind::context), std::pair("plan.tensor", AxisKind::tensor)})
      s.set(key, axis_size(layout, kind));
    s.set("plan.expert", expert_ranks());
    s.set("plan.expert_tensor", expert_slices());
    s.set("plan.pipeline", static_cast<std::int64_t>(part.stages.size()));
    s.set("plan.chunks", static_cast<std::int64_t>(part.stages[0].chunks.size()));
    s.set("plan.schedule", part.schedule);
    s.set("plan.zero", *common_.zero);
    if (*common_.zero == 3) s.set("plan.regather", truth(*common_.regather));
    s.set("plan.sequence_parallel", truth(*common_.sequence_parallel));
    s.set("plan.context_kind", std::string(word(*common_.context_kind)));
    for (const auto& [state, home] : common_.home)
      if (home.place != Place::device) s.set(fmt::format("plan.home.{}", word(state)), std::string(word(home.place)));
    const double ranks = axis_size(layout, AxisKind::data) * axis_size(layout, AxisKind::shard);
    s.set("plan.micro_batch", whole(part.pipelines[0].batch / part.pipelines[0].micro_batches / ranks));
  }

  /// Numbered layers of each visit; they must follow each other.
  std::string layers(launch::Settings& s) {
    const Part& part = part_of(plan_);
    const Module& module = workload_.modules[index(workload_.passes[index(part.pass)].module)];
    const std::vector<bool> counted = module.counted_layers();
    std::size_t next = 0;
    for (std::size_t c = 0; c < part.stages[0].chunks.size(); ++c)
      for (const StageId id : part.pipelines[0].stages) {
        std::int64_t count = 0;
        for (const LayerId layer : part.stages[index(id)].chunks[c]) {
          if (index(layer) != next++) return "layers that do not follow each other from stage to stage";
          if (counted[index(layer)]) ++count;
        }
        counts_.push_back(count);
      }
    if (next != module.layers.size()) return "layers that no stage holds";
    if (std::ranges::any_of(counts_, [&](std::int64_t count) { return count != counts_.front(); }))
      s.set("plan.layers", fmt::format("[{}]", fmt::join(counts_, ", ")));
    return "";
  }

  /// The same for all layers, or `full` for the first n of every visit and nothing behind them.
  std::string recompute(launch::Settings& s) const {
    const Part& part = part_of(plan_);
    const Module& module = workload_.modules[index(workload_.passes[index(part.pass)].module)];
    const std::vector<bool> counted = module.counted_layers();
    std::set<std::string> kinds;
    std::set<std::int64_t> leading;
    for (const Stage& stage : part.stages)
      for (const auto& chunk : stage.chunks) {
        std::int64_t full = 0, at = 0;
        for (const LayerId layer : chunk) {
          if (!counted[index(layer)]) continue;
          const Recompute here = *settings_of(stage, layer, workload_).recompute;
          kinds.insert(here.kind == RecomputeKind::every ? fmt::format("every {}", here.every)
                                                         : std::string(word(here.kind)));
          if (here.kind == RecomputeKind::full && full == at)
            ++full;
          else if (here.kind == RecomputeKind::full)
            return "recompute of layers that are not the first of their stage";
          ++at;
        }
        leading.insert(full);
      }
    if (kinds.size() == 1) return s.set("plan.recompute", *kinds.begin()), "";
    if (kinds != std::set<std::string>{"full", "none"} || leading.size() != 1)
      return "recompute that differs between layers or stages";
    return s.set("plan.recompute", fmt::format("block {}", *leading.begin())), "";
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const Workload& workload_;
  trainyard::Settings common_;
  std::vector<std::int64_t> counts_;
};

}  // namespace

void add_model(const Architecture& a, Settings& s) {
  static constexpr const char* kPositions[] = {"learned", "learned_to_length", "rotary", "alibi", "none"};
  static constexpr const char* kNorms[] = {"layer", "layer_no_bias", "rms"};
  static constexpr const char* kBiases[] = {"none", "qkv", "attention", "all"};
  static constexpr const char* kBlocks[] = {"sequential", "parallel", "parallel_two_norms"};
  for (const auto& [key, size] :
       {std::pair("layers", a.layers), std::pair("hidden", a.hidden), std::pair("heads", a.heads),
        std::pair("kv_heads", a.kv_heads), std::pair("head_size", a.head_size), std::pair("ffn", a.ffn),
        std::pair("vocabulary", a.vocabulary), std::pair("max_positions", a.max_positions),
        std::pair("window", a.window), std::pair("global_every", a.global_every), std::pair("experts", a.experts),
        std::pair("experts_per_token", a.experts_per_token), std::pair("expert_ffn", a.experts > 0 ? a.expert_ffn : 0),
        std::pair("shared_ffn", a.shared_ffn), std::pair("dense_layers", a.dense_layers),
        std::pair("prediction_layers", a.prediction_layers), std::pair("query_latent", a.query_latent),
        std::pair("key_value_latent", a.key_value_latent), std::pair("rope_size", a.rope_size),
        std::pair("value_size", a.latent_attention() ? a.value_size : 0)})
    if (size > 0) s.set(fmt::format("model.{}", key), whole(size));
  if (a.expert_every > 1) s.set("model.expert_every", whole(a.expert_every));
  if (a.embedding_size != a.hidden) s.set("model.embedding_size", whole(a.embedding_size));
  for (const auto& [key, flag] :
       {std::pair("gated", a.gated), std::pair("tied", a.tied), std::pair("qk_norm", a.qk_norm)})
    s.set(fmt::format("model.{}", key), truth(flag));
  for (const auto& [key, flag] : {std::pair("post_norms", a.post_norms), std::pair("embedding_norm", a.embedding_norm), std::pair("router_bias", a.router_bias),
        std::pair("expert_biases", a.expert_biases), std::pair("shared_gate", a.shared_gate), std::pair("attention_sinks", a.attention_sinks),
        std::pair("activation_clamp", a.activation_clamp)})
    if (flag) s.set(fmt::format("model.{}", key), "true");
  s.set("model.positions", kPositions[static_cast<int>(a.positions)]);
  s.set("model.norm", kNorms[static_cast<int>(a.norm)]);
  s.set("model.biases", kBiases[static_cast<int>(a.biases)]);
  if (a.block != Block::sequential) s.set("model.block", kBlocks[static_cast<int>(a.block)]);
}

namespace {

void add_workload(const Workload& workload, Settings& s) {
  s.set("workload.sequence_length", whole(workload.data.sequence_length));
  s.set("workload.global_batch", whole(workload.global_batch));
  s.set("workload.precision", std::string(name(workload.compute_type())));
  s.set("workload.optimizer", workload.optimizer);
  for (const auto& [key, value] : switches_of(workload.software)) s.set("software." + key, value);
  const ItemRouting& routing = workload.data.routing;
  if (routing.capacity > 0) s.set("workload.routing.capacity", fmt::format("{}", routing.capacity));
  if (routing.padded) s.set("workload.routing.padded", "true");
  if (routing.nodes > 0) s.set("workload.routing.nodes", routing.nodes);
}

std::string parts_text(const std::vector<RecomputedPart>& parts) {
  std::string text;
  for (const RecomputedPart part : parts) text += (text.empty() ? "[" : ", ") + std::string(name(part));
  return text + "]";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> switches_of(const Software& it) {
  return {{"attention", std::string(name(it.attention))},
          {"loss", std::string(name(it.loss))},
          {"fused_norm", truth(it.fused_norm)},
          {"fused_rope", truth(it.fused_rope)},
          {"fused_activation", truth(it.fused_activation)},
          {"dropout", truth(it.dropout)},
          {"pipeline_scatter_gather", truth(it.pipeline_scatter_gather)},
          {"overlap_pipeline", truth(it.overlap_pipeline)},
          {"overlap_gradient_reduce", truth(it.overlap_gradient_reduce)},
          {"overlap_weight_gather", truth(it.overlap_weight_gather)},
          {"overlap_tensor", truth(it.overlap_tensor)},
          {"gradient_clipping", truth(it.gradient_clipping)},
          {"cuda_graphs", truth(it.cuda_graphs)},
          {"eager_host", truth(it.eager_host)},
          {"cached_gradient_dummies", truth(it.cached_gradient_dummies)},
          {"gathers_logits", truth(it.gathers_logits)},
          {"keeps_gathered_input", truth(it.keeps_gathered_input)},
          {"copies_gathers", truth(it.copies_gathers)},
          {"operand_scaling", std::string(name(it.operand_scaling))},
          {"splits_tensor_products", truth(it.splits_tensor_products)},
          {"overlap_expert", truth(it.overlap_expert)},
          {"overlap_shared_experts", truth(it.overlap_shared_experts)},
          {"deduplicates_dispatch", truth(it.deduplicates_dispatch)},
          {"narrow_dispatch", truth(it.narrow_dispatch)},
          {"fused_permute", truth(it.fused_permute)},
          {"fused_experts", truth(it.fused_experts)},
          {"fused_gradient_accumulation", truth(it.fused_gradient_accumulation)},
          {"selective", parts_text(it.selective)},
          {"selective_keeps_products", truth(it.selective_keeps_products)},
          {"keeps_gradient_copies", truth(it.keeps_gradient_copies)},
          {"narrow_weights", truth(it.narrow_weights)},
          {"copies_scores", truth(it.copies_scores)},
          {"copies_attention_output", truth(it.copies_attention_output)},
          {"flattens_gradients", truth(it.flattens_gradients)},
          {"whole_in_pipeline", truth(it.whole_in_pipeline)},
          {"accumulates_whole", truth(it.accumulates_whole)},
          {"shards_over_context", truth(it.shards_over_context)},
          {"gradient_type", std::string(name(it.gradient_type))},
          {"gradient_reduce_type", std::string(name(it.gradient_reduce_type))}};
}

std::variant<Settings, Inexpressible> settings_of_plan(const Plan& plan, const Cluster& cluster,
                                                       const Workload& workload, const Architecture& model) {
  Settings settings;
  if (std::string why = PlanReader(plan, cluster, workload).read(settings); !why.empty())
    return Inexpressible{std::move(why)};
  add_model(model, settings);
  add_workload(workload, settings);
  return settings;
}

}  // namespace trainyard::launch
