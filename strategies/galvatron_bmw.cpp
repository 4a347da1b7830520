// Galvatron-BMW: Galvatron's layer-wise layouts with recompute as one more choice, and cuts of the pipeline that weigh the balance of
// memory against that of time.
// Paper: Wang et al., Improving Automatic Parallel Training via Balanced Memory Workload Optimization, TKDE 2024, arXiv 2307.02031.
// From the memory-balanced cut a layer moves from the slowest stage to its faster neighbour, as long as stages fit; the even and the
// time-balanced cut are tried too.
#include <algorithm>
#include <limits>
#include <set>

#include "sim/planning/layout_pipeline.hpp"
#include "sim/planning/registry.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 1'000'000;
constexpr int kSimulate = 16;
constexpr double kMemoryShares[] = {1.0, 0.88};
constexpr int kMostMoves = 12;

/// Layers in contiguous runs, one a stage, whose largest weight is least. weight: [stage][layer].
std::vector<int> balanced(const std::vector<std::vector<double>>& weight) {
  const std::size_t stages = weight.size(), layers = weight[0].size();
  const double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(layers + 1, never));
  std::vector<std::vector<int>> from(stages + 1, std::vector<int>(layers + 1, 0));
  best[0][0] = 0;
  for (std::size_t s = 1; s <= stages; ++s)
    for (std::size_t last = s; last <= layers; ++last) {
      double run = 0;
      for (std::size_t first = last; first-- > s - 1;) {
        run += weight[s - 1][first];
        const double worst = std::max(best[s - 1][first], run);
        if (worst < best[s][last]) {
          best[s][last] = worst;
          from[s][last] = int(first);
        }
      }
    }
  std::vector<int> bounds(stages + 1, int(layers));
  for (std::size_t s = stages; s-- > 0;) bounds[s] = from[s + 1][std::size_t(bounds[s + 1])];
  return bounds;
}

class GalvatronBmw final : public Strategy {
 public:
  explicit GalvatronBmw(const StrategyOptions& options)
      : budget_(options.values["budget"].integer_or(kBudget)), simulate_(simulate_of(options.values, kSimulate)) {}

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const Router router(context.cluster);
    LayoutPipelines pipelines(context, router, {RecomputeKind::none, RecomputeKind::full});
    Finalists finalists(context, router, simulate_);
    bool truncated = false;
    const std::vector<LayoutPipeline> shapes = pipelines.shapes();
    for (const LayoutPipeline& shape : shapes) {
      Budget share(std::max<std::int64_t>(1, budget_ / std::int64_t(shapes.size())));
      for (const double memory : kMemoryShares) {
        LayoutPipeline start = shape;
        start.memory_share = memory;
        for (const std::vector<int>& bounds : cuts(pipelines, start)) {
          start.bounds = bounds;
          adjust(pipelines, start, share, finalists);
        }
      }
      truncated = truncated || share.ran_out();
    }
    return finalists.choose("no layouts of the layers fit the GPUs' memory", truncated);
  }

 private:
  /// Even, balanced in memory, balanced in time; each once.
  static std::vector<std::vector<int>> cuts(LayoutPipelines& pipelines, const LayoutPipeline& shape) {
    std::vector<std::vector<double>> memory, time;
    for (int s = 0; s < shape.stages; ++s) {
      const std::vector<DeviceId> devices = pipelines.devices_of(shape, s);
      const auto& costs = pipelines.search().costs().of({{devices[0]}, double(shape.micro_batch) / double(devices.size()), RecomputeKind::none});
      const double usable = pipelines.search().costs().usable_memory(devices[0], 1).value;
      memory.emplace_back();
      time.emplace_back();
      for (const LayerCost& cost : costs) {
        memory.back().push_back((cost.states / double(devices.size()) + cost.kept * double(shape.stages - s)).value / usable);
        time.back().push_back((cost.forward + cost.backward).value);
      }
    }
    std::vector<std::vector<int>> all{shape.bounds};
    for (const std::vector<int>& bounds : {balanced(memory), balanced(time)})
      if (std::ranges::find(all, bounds) == all.end()) all.push_back(bounds);
    return all;
  }

  /// Layer by layer away from the slowest stage, until a cut comes again or a stage fits no layouts.
  static void adjust(LayoutPipelines& pipelines, LayoutPipeline pipeline, Budget& budget, Finalists& finalists) {
    std::set<std::vector<int>> seen;
    for (int move = 0; move <= kMostMoves && seen.insert(pipeline.bounds).second; ++move) {
      const std::optional<PricedPipeline> priced = pipelines.price(pipeline, budget);
      if (!priced) return;
      pipelines.add_to(finalists, pipeline, *priced);
      if (!move_layer(priced->times, pipeline.bounds)) return;
    }
  }

  static bool move_layer(const std::vector<Seconds>& times, std::vector<int>& bounds) {
    const int stages = int(times.size());
    const int slowest = int(std::ranges::max_element(times) - times.begin());
    if (stages == 1 || bounds[slowest + 1] - bounds[slowest] < 2) return false;
    const bool to_next = slowest == 0 || (slowest + 1 < stages && times[slowest + 1] < times[slowest - 1]);
    to_next ? --bounds[slowest + 1] : ++bounds[slowest];
    return true;
  }

  std::int64_t budget_;
  int simulate_;
};

const StrategyRegistrar registrar({
    .name = "galvatron_bmw",
    .summary = "galvatron with recompute per layer and cuts that balance memory against time between stages",
    .paper = "Wang et al., Improving Automatic Parallel Training via Balanced Memory Workload Optimization, TKDE 2024, arXiv 2307.02031",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of galvatron_bmw"),
    .simplified = {"as galvatron; recompute is full or none",
                   "every shape of pipeline gets an equal share of the budget"},
    .reconstructed = {"the loop of adjustments: one layer a move from the slowest stage to its faster neighbour, at most 12 moves",
                      "the memory-balanced cut weighs sharded states and the activations of the micro-batches in flight"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<GalvatronBmw>(options); },
});

}  // namespace
}  // namespace trainyard
