#include "sim/planning/layout_pipeline.hpp"

#include <algorithm>

namespace trainyard {
namespace {

/// More samples a GPU and micro-batch than this are not tried.
constexpr int kMostSamples = 8;

/// Layers that share a table with one of the same stage take its layout.
void follow_shared_tables(const Module& module, int first, std::vector<LayerLayout>& layers) {
  for (std::size_t l = 0; l < layers.size(); ++l)
    for (const LayerId other : module.layers[std::size_t(first) + l].tied_to)
      if (int(index(other)) >= first && index(other) < std::size_t(first) + layers.size()) layers[l] = layers[index(other) - std::size_t(first)];
}

}  // namespace

LayoutPipelines::LayoutPipelines(const PlanningContext& context, const Router& router, std::vector<RecomputeKind> recomputes)
    : context_(context), router_(router), search_(context.cluster, context.workload, router, std::move(recomputes)), gpus_(context.cluster.gpus()) {}

std::vector<LayoutPipeline> LayoutPipelines::shapes() const {
  std::vector<LayoutPipeline> shapes;
  const int batch = int(context_.workload.global_batch), gpus = int(gpus_.size());
  const Module& module = context_.workload.modules[index(context_.workload.passes.front().module)];
  const int layers = int(std::ranges::count(module.counted_layers(), true));
  for (int stages = 1; stages <= std::min(gpus, layers); ++stages)
    for (int micro_batch = 1; micro_batch <= std::min(batch, kMostSamples * gpus / stages); ++micro_batch)
      if (gpus % stages == 0 && batch % micro_batch == 0) shapes.push_back({stages, micro_batch, 1, even_bounds(stages)});
  return shapes;
}

std::vector<int> LayoutPipelines::even_bounds(int stages) const {
  const Module& module = context_.workload.modules[index(context_.workload.passes.front().module)];
  const std::vector<bool> counted = module.counted_layers();
  const int first = int(std::ranges::find(counted, true) - counted.begin()), layers = int(std::ranges::count(counted, true));
  std::vector<int> bounds{0};
  for (int s = 1, taken = 0; s < stages; ++s) {
    taken += layers / stages + (s - 1 < layers % stages ? 1 : 0);
    bounds.push_back(first + taken);
  }
  bounds.push_back(int(module.layers.size()));
  return bounds;
}

std::vector<DeviceId> LayoutPipelines::devices_of(const LayoutPipeline& pipeline, int stage) const {
  const std::ptrdiff_t size = std::ptrdiff_t(gpus_.size()) / pipeline.stages;
  return {gpus_.begin() + stage * size, gpus_.begin() + (stage + 1) * size};
}

int LayoutPipelines::micro_batches(const LayoutPipeline& pipeline) const { return int(context_.workload.global_batch) / pipeline.micro_batch; }

std::optional<PricedPipeline> LayoutPipelines::price(const LayoutPipeline& pipeline, Budget& budget) {
  PricedPipeline priced;
  Seconds sum{}, slowest{}, exposed{}, arrival{};
  for (int s = 0; s < pipeline.stages; ++s) {
    const std::vector<DeviceId> devices = devices_of(pipeline, s);
    LayoutQuestion question{devices, pipeline.bounds[s], pipeline.bounds[s + 1], pipeline.micro_batch, micro_batches(pipeline), 1, pipeline.memory_share};
    question.in_flight = std::min(pipeline.stages - s, question.micro_batches);
    std::optional<LayoutAnswer> answer = search_.best(question, budget);
    if (!answer) return std::nullopt;
    Seconds time = answer->micro_batch + arrival;  // a message holds both its ends
    if (s + 1 < pipeline.stages) {
      const LayerLayout& last = answer->layers.back();
      const Bytes output = search_.costs().of({{devices.front()}, double(pipeline.micro_batch) / last.data, RecomputeKind::none})[pipeline.bounds[s + 1] - 1].output;
      arrival = transfer_time(router_, context_.cluster, devices.back(), devices_of(pipeline, s + 1).front(), output / double(last.tensor));
      time += arrival;
    }
    sum += time;
    slowest = std::max(slowest, time);
    exposed = std::max(exposed, answer->exposed);
    priced.times.push_back(time);
    priced.stages.push_back(std::move(*answer));
  }
  priced.step = sum + slowest * double(micro_batches(pipeline) - 1) + exposed;
  return priced;
}

Plan LayoutPipelines::plan(const LayoutPipeline& pipeline, const PricedPipeline& priced) const {
  Part part;
  Pipeline line;
  line.batch = context_.workload.global_batch;
  line.micro_batches = micro_batches(pipeline);
  const Module& module = context_.workload.modules[index(context_.workload.passes.front().module)];
  for (int s = 0; s < pipeline.stages; ++s) {
    std::vector<LayerLayout> layers = priced.stages[s].layers;
    follow_shared_tables(module, pipeline.bounds[s], layers);
    line.stages.push_back(id_at<StageId>(std::size_t(s)));
    part.stages.push_back(stage_with_layouts(devices_of(pipeline, s), pipeline.bounds[s], layers));
  }
  part.pipelines = {line};
  Plan plan;
  plan.phases.push_back({{}, {part}, {}});
  return plan;
}

void LayoutPipelines::add_to(Finalists& finalists, const LayoutPipeline& pipeline, const PricedPipeline& priced) const {
  finalists.add(plan(pipeline, priced), priced.step);
}

}  // namespace trainyard
