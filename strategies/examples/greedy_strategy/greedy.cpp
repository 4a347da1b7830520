// A pipeline over all GPUs in which each gets layers in proportion to its speed.
#include <algorithm>

#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/stage_plan.hpp"

using namespace trainyard;

namespace {

class Greedy final : public Strategy {
 public:
  explicit Greedy(const StrategyOptions& options) : samples_(int(options.values["samples"].integer_or(1))) {}

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const std::vector<DeviceId> gpus = context.cluster.gpus();
    const Router router(context.cluster);
    LayerCosts costs(context.cluster, context.workload, router);
    const int layers = int(costs.module().layers.size());
    if (int(gpus.size()) > layers) return Infeasible{"there are more GPUs than layers", {}, {}};
    PipelineChoice pipeline;
    pipeline.batch = context.workload.global_batch;
    pipeline.micro_batches = int(pipeline.batch) / samples_;
    Finalists finalists(context, router, 3);
    for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
      pipeline.stages = stages(gpus, costs, recompute, layers);
      finalists.add(plan_of({pipeline}), Seconds(double(recompute)));   // its order of preference stands for an estimate
    }
    return finalists.choose("no stage fits");
  }

 private:
  std::vector<StageChoice> stages(const std::vector<DeviceId>& gpus, LayerCosts& costs, RecomputeKind recompute, int layers) const {
    std::vector<double> speed;
    double all = 0;
    for (const DeviceId gpu : gpus) {
      const LayerCost layer = costs.of({{gpu}, double(samples_), recompute})[std::size_t(layers / 2)];
      speed.push_back(1 / (layer.forward + layer.backward).value);
      all += speed.back();
    }
    std::vector<StageChoice> stages;
    double given = 0;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      given += speed[i] / all * layers;
      const int first = stages.empty() ? 0 : stages.back().last, after = int(gpus.size() - i) - 1;
      const int last = after == 0 ? layers : std::clamp(int(given + 0.5), first + 1, layers - after);
      stages.push_back({first, last, {gpus[i]}, 1, {recompute, 1}});
    }
    return stages;
  }

  int samples_;
};

const StrategyRegistrar registrar({
    .name = "greedy",
    .summary = "one stage a GPU, layers in proportion to its speed",
    .paper = "none",
    .options = schema::object({schema::optional("samples", schema::integer(between(1, 64), "samples of a micro-batch"), "1")}, "options of greedy"),
    .simplified = {},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Greedy>(options); },
});

}  // namespace
