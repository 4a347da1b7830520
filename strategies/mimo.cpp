// Every module of a multimodal model in its own layout: the encoder of images replicated at low tensor degree beside a
// language model that is cut finer, on the same GPUs or on GPUs of its own before it. Paper: Heterogeneous Parallelism
// for Multimodal LLM Training (Megatron "MIMO"), arXiv 2605.27678. Colocated, the boundary gathers or slices along the
// batch, and before a pipeline the encoder works through the whole batch first; apart, the encoder is a stage before
// the pipeline, and its replicas send to those of the language model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/planning/device_groups.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/registry.hpp"

namespace trainyard {
namespace {

constexpr int kSimulate = 12;
constexpr int kMostTensor = 8;

struct MimoOptions {
  bool colocated = true, apart = true;
  int simulate = kSimulate, context = 1;
};

/// The language model's layout on its GPUs.
struct Shape {
  int tensor = 1, context = 1, pipeline = 1, data = 1, micro_batch = 1;
  [[nodiscard]] int members() const { return tensor * context; }
  RecomputeKind recompute = RecomputeKind::none;
};

class MimoSearch {
 public:
  MimoSearch(const PlanningContext& context, const MimoOptions& options)
      : context_(context),
        options_(options),
        router_(context.cluster),
        module_(context.workload.modules[0]),
        gpus_(context.cluster.gpus()),
        finalists_(context, router_, options.simulate) {
    for (std::size_t i = 0; i < module_.layers.size(); ++i)
      (module_.types[index(module_.layers[i].type)].samples.width > 0 ? encoder_ : language_)
          .push_back(id_at<LayerId>(i));
  }

  PlanOrInfeasible search() {
    if (encoder_.empty() || language_.empty())
      return Infeasible{"mimo plans for several modules: the model has no encoder of images", {}, {}};
    const int all = int(gpus_.size()),
              node = int(gpus_of(context_.cluster, context_.cluster.devices[index(gpus_.front())].node).size());
    if (options_.colocated)
      shapes_on(all, 1 << 10, node,
                [&](const Shape& shape) { shape.pipeline == 1 ? add_colocated(shape) : add_before_pipeline(shape); });
    if (options_.apart)
      for (int encoders = std::min(node, all / 2); encoders >= 1 && encoders <= all / 2; encoders += node)
        shapes_on(all - encoders, 1 << 10, node, [&](const Shape& shape) { add_apart(shape, encoders); });
    return finalists_.choose(nothing_.empty() ? "no layout of the language model divides the GPUs and the batch"
                                              : nothing_);
  }

 private:
  double batch() const { return context_.workload.global_batch; }

  bool divides_heads(int tensor) const {
    return std::ranges::all_of(language_, [&](LayerId layer) {
      const LayerType& type = module_.types[index(module_.layers[index(layer)].type)];
      return std::ranges::all_of(type.operators,
                                 [&](const Operator& op) { return op.attention.key_value_heads % tensor == 0; });
    });
  }

  template <class Visit>
  void shapes_on(int gpus, int most_stages, int node, Visit visit) const {
    for (int tensor = 1; tensor <= std::min(node, kMostTensor); tensor *= 2)
      for (int context = 1; context <= options_.context; context *= 2)
        pipelines_on(gpus, most_stages, tensor, context, visit);
  }

  template <class Visit>
  void pipelines_on(int gpus, int most_stages, int tensor, int context, Visit visit) const {
    for (int pipeline = 1;
         pipeline <= most_stages && tensor * context * pipeline <= gpus && pipeline <= int(language_.size()) - 2;
         ++pipeline) {
      if (gpus % (tensor * context * pipeline) != 0 || !divides_heads(tensor)) continue;
      const int data = gpus / (tensor * context * pipeline);
      for (int micro_batch = 1; data * micro_batch <= int(batch()) && micro_batch <= 16; micro_batch *= 2)
        if (std::fmod(batch(), data * micro_batch) == 0)
          for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
            visit({tensor, context, pipeline, data, micro_batch, recompute});
    }
  }

  Rule rule_of(std::vector<LayerId> layers, int data, int tensor, RecomputeKind recompute, int context = 1) const {
    Rule rule;
    rule.layers = std::move(layers);
    rule.settings.layout = Layout{};
    if (data > 1 || tensor * context == 1) rule.settings.layout->push_back(equal_axis(AxisKind::data, data));
    if (context > 1) rule.settings.layout->push_back(equal_axis(AxisKind::context, context));
    if (tensor > 1) rule.settings.layout->push_back(equal_axis(AxisKind::tensor, tensor));
    rule.settings.recompute = Recompute{recompute, 1};
    return rule;
  }

  /// The encoder's replicas split the samples of each of the language model's, or their images; its context ranks are
  /// replicas, too.
  void add_colocated(const Shape& shape) {
    for (int split = shape.context; split <= shape.members(); split *= 2) {
      Stage stage;
      stage.devices = gpus_;
      stage.chunks.resize(1);
      for (std::size_t i = 0; i < module_.layers.size(); ++i) stage.chunks[0].push_back(id_at<LayerId>(i));
      stage.rules = {rule_of(encoder_, shape.data * split, shape.members() / split, shape.recompute),
                     rule_of(language_, shape.data, shape.tensor, shape.recompute, shape.context)};
      add({std::move(stage)}, shape);
    }
  }

  /// Three phases on the same GPUs: the encoder works through the batch, then the language model's pipeline, then the
  /// encoder backward. The encoder's data ranks share the images of a sample; it holds its activations through the
  /// second phase, so that it may recompute alone.
  void add_before_pipeline(const Shape& shape) {
    for (int tensor = 1; tensor <= shape.tensor; tensor *= 2)
      for (const RecomputeKind recompute : {shape.recompute, RecomputeKind::full}) {
        std::vector<Stage> stages = language_stages(shape, gpus_.begin());
        Stage encoder;
        encoder.devices = gpus_;
        encoder.chunks = {encoder_};
        encoder.rules = {rule_of({}, int(gpus_.size()) / tensor, tensor, recompute)};
        stages.insert(stages.begin(), std::move(encoder));
        add(std::move(stages), shape, "colocated");
        if (shape.recompute == RecomputeKind::full) break;
      }
  }

  void add_apart(const Shape& shape, int encoders) {
    if (std::fmod(shape.micro_batch * shape.data, encoders) != 0) return;
    std::vector<Stage> stages = language_stages(shape, gpus_.begin() + encoders);
    Stage encoder;
    encoder.devices.assign(gpus_.begin(), gpus_.begin() + encoders);
    encoder.chunks = {encoder_};
    encoder.rules = {rule_of({}, encoders, 1, shape.recompute)};
    stages.insert(stages.begin(), std::move(encoder));
    add(std::move(stages), shape);
  }

  /// The pipeline of the language model, its embedding before the first and its head behind the last stage.
  std::vector<Stage> language_stages(const Shape& shape, std::vector<DeviceId>::const_iterator next) const {
    std::vector<Stage> stages(static_cast<std::size_t>(shape.pipeline));
    const std::size_t decoders = language_.size() - 2;
    for (int s = 0; s < shape.pipeline; ++s) {
      Stage& stage = stages[std::size_t(s)];
      stage.devices.assign(next, next + shape.data * shape.members());
      next += shape.data * shape.members();
      const std::size_t from = decoders * std::size_t(s) / std::size_t(shape.pipeline) + (s > 0 ? 1 : 0);
      const std::size_t to =
          decoders * std::size_t(s + 1) / std::size_t(shape.pipeline) + (s + 1 < shape.pipeline ? 1 : 2);
      stage.chunks = {{language_.begin() + std::ptrdiff_t(from), language_.begin() + std::ptrdiff_t(to)}};
      stage.rules = {rule_of({}, shape.data, shape.tensor, shape.recompute, shape.context)};
    }
    return stages;
  }

  void add(std::vector<Stage> stages, const Shape& shape, const char* schedule = "1f1b") {
    Part part;
    part.schedule = schedule;
    part.stages = std::move(stages);
    Pipeline pipeline{batch(), {}, int(std::lround(batch() / (shape.data * shape.micro_batch))), {}};
    for (std::size_t s = 0; s < part.stages.size(); ++s) pipeline.stages.push_back(id_at<StageId>(s));
    part.pipelines.push_back(std::move(pipeline));
    Plan plan;
    plan.phases.push_back({{}, {std::move(part)}, {}});
    if (auto problem = finalists_.check_and_add(std::move(plan)); problem && nothing_.empty()) nothing_ = *problem;
  }

  const PlanningContext& context_;
  const MimoOptions& options_;
  Router router_;
  const Module& module_;
  std::vector<DeviceId> gpus_;
  std::vector<LayerId> encoder_, language_;
  Finalists finalists_;
  std::string nothing_;
};

class Mimo final : public Strategy {
 public:
  explicit Mimo(const StrategyOptions& options) {
    const std::string where = options.values["modules"].text_or("any");
    options_ = {where != "apart", where != "colocated", simulate_of(options.values, kSimulate),
                int(options.values["context"].integer_or(1))};
  }
  PlanOrInfeasible plan(const PlanningContext& context) override { return MimoSearch(context, options_).search(); }

 private:
  MimoOptions options_;
};

const StrategyRegistrar registrar({
    .name = "mimo",
    .summary =
        "the encoder of a multimodal model in a layout of its own, on the language model's GPUs or before it on others",
    .paper = "Heterogeneous Parallelism for Multimodal LLM Training (Megatron MIMO), arXiv 2605.27678",
    .options = schema::object(
        {schema::optional("modules", schema::choice({"any", "colocated", "apart"}, "on the same GPUs, or on others"),
                          "any"),
         schema::optional("context",
                          schema::integer(between(1, 1024),
                                          "largest degree of a context axis of the language model, powers of two"),
                          "1"),
         simulate_option(kSimulate)},
        "options of mimo"),
    .simplified =
        {"one encoder",
         "colocated before a pipeline, the boundary is a transfer a micro-batch instead of one exchange of the batch",
         "apart, each of the language model's tensor ranks gets its samples itself instead of by a broadcast "
         "from a leader",
         "apart, the encoder's GPUs are the first ones, whole nodes of them, each a replica"},
    .reconstructed = {"the paper sweeps configurations by hand: here layouts of the language model and splits of the "
                      "encoder are ranked in closed form and the best simulated"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Mimo>(options); },
});

}  // namespace
}  // namespace trainyard
