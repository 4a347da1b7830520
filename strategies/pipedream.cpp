// PipeDream's planner: contiguous stages with replicas that make the slowest stage fastest; its answer is run synchronously.
// Paper: Narayanan et al., PipeDream: Generalized Pipeline Parallelism for DNN Training, SOSP'19 (planner: §3.1).
// T(i..j, m) = max(sum of layer times, 2 (m - 1)/m · weights / B) for m replicas; a dynamic program finds the cut whose largest
// stage or transfer is least. Its model counts the weights' exchange in every micro-batch, since PipeDream updates after each.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "sim/planning/budget.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_runs.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/stage_plan.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 60'000'000;
constexpr int kSimulate = 6;
constexpr int kMostStages = 32;
constexpr Seconds kNever(std::numeric_limits<double>::infinity());
constexpr std::array kRecomputes{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};

class PipeDreamSearch {
 public:
  PipeDreamSearch(const PlanningContext& context, const Router& router, LayerCosts& costs, int micro_batch, Budget& budget)
      : context_(context), router_(router), costs_(costs), gpus_(context.cluster.gpus()), layers_(int(costs.module().layers.size())),
        micro_batch_(micro_batch), micro_batches_(int(context.workload.global_batch) / micro_batch), shards_(context.workload.software.distributed_optimizer), budget_(budget) {
    usable_ = costs.usable_memory(gpus_[0], 1);
    for (const DeviceId gpu : gpus_) usable_ = std::min(usable_, costs.usable_memory(gpu, 1));
    for (int replicas = 1; replicas <= int(gpus_.size()); ++replicas)
      if (micro_batch % replicas == 0) replicas_.push_back(replicas);
  }

  void search(Finalists& finalists) {
    int most = int(gpus_.size());
    const int stages = std::min({kMostStages, most, layers_});
    best_.assign(std::size_t(stages) + 1, std::vector<std::vector<Choice>>(std::size_t(layers_), std::vector<Choice>(std::size_t(most) + 1)));
    for (int q = 1; q <= stages; ++q)
      for (int first = 0; first + q <= layers_; ++first)
        for (int gpus = q; gpus <= most; ++gpus) fill(q, first, gpus);
    // Where no replication shares the micro-batch over all GPUs, the first GPUs stay idle.
    for (; most > 0; --most) {
      const Choice* best = nullptr;
      int best_stages = 0;
      for (int q = 1; q <= std::min(stages, most); ++q)
        if (const Choice& choice = best_[q][0][most]; choice.slowest < (best ? best->slowest : kNever)) {
          best = &choice;
          best_stages = q;
        }
      if (best) return finalists.add(plan_from(best_stages, most), best->slowest * double(micro_batches_));
    }
  }

 private:
  /// For `gpus` GPUs, the last ones, in q stages on the layers from `first`: the first of those stages.
  struct Choice {
    Seconds slowest = kNever;
    int last = 0, replicas = 0;
    RecomputeKind recompute = RecomputeKind::none;
  };

  void fill(int q, int first, int gpus) {
    Choice& best = best_[q][first][gpus];
    for (const int replicas : replicas_) {
      if (replicas > gpus - (q - 1) || (q == 1 && replicas != gpus)) continue;
      for (int last = q == 1 ? layers_ : first + 1; last <= layers_ - (q - 1); ++last) {
        if (!budget_.take()) return;
        const Seconds rest = q == 1 ? Seconds(0) : best_[q - 1][last][gpus - replicas].slowest;
        if (rest >= best.slowest) continue;
        const auto [time, recompute] = stage(q, first, last, gpus, replicas);
        const Seconds slowest = std::max({time, rest, q == 1 ? Seconds(0) : 2.0 * transfer(last, gpus, replicas)});
        if (slowest < best.slowest) best = {slowest, last, replicas, recompute};
      }
    }
  }

  /// With the least recompute that fits while q micro-batches are held.
  std::pair<Seconds, RecomputeKind> stage(int q, int first, int last, int gpus, int replicas) {
    for (const RecomputeKind recompute : kRecomputes) {
      const LayerRuns& runs = runs_of(replicas, recompute);
      if (runs.held(first, last, std::min(q, micro_batches_), shards_ ? replicas : 1) > usable_) continue;
      Seconds time = runs.time(first, last);
      if (replicas > 1)
        time = std::max(time, runs.gradients(first, last) * (2.0 * (replicas - 1) / replicas) / rate(int(gpus_.size()) - gpus, replicas));
      return {time, recompute};
    }
    return {kNever, RecomputeKind::full};
  }

  Seconds transfer(int last, int gpus, int replicas) {
    const std::size_t at = gpus_.size() - std::size_t(gpus) + std::size_t(replicas);
    const Bytes size = runs_of(replicas, RecomputeKind::none).output(last);
    const auto [known, is_new] = transfers_.try_emplace({at, size.value});
    if (is_new) known->second = transfer_time(router_, context_.cluster, gpus_[at - 1], gpus_[at], size);
    return known->second;
  }

  /// Of the slowest GPU, since the paper profiles one and takes all to be alike.
  const LayerRuns& runs_of(int replicas, RecomputeKind recompute) {
    const auto [known, is_new] = runs_.try_emplace({replicas, int(recompute)});
    if (is_new)
      for (const DeviceId gpu : gpus_) {
        const LayerRuns runs(costs_.of({{gpu}, double(micro_batch_) / replicas, recompute}));
        known->second.layers() == 0 ? void(known->second = runs) : known->second.keep_slower(runs);
      }
    return known->second;
  }

  BytesPerSecond rate(int from, int count) {
    const auto [known, is_new] = rates_.try_emplace({from, count});
    if (is_new) {
      const RingGroup ring = ring_group(router_, context_.cluster, {gpus_.begin() + from, gpus_.begin() + from + count});
      known->second = ring.shape.ring_rate * double(ring.shape.rings);
    }
    return known->second;
  }

  [[nodiscard]] Plan plan_from(int stages, int gpus) const {
    PipelineChoice pipeline;
    pipeline.batch = double(micro_batch_) * micro_batches_;
    pipeline.micro_batches = micro_batches_;
    for (int q = stages, first = 0; q > 0; --q) {
      const Choice& choice = best_[q][first][gpus];
      const auto begin = gpus_.end() - gpus;
      pipeline.stages.push_back({first, choice.last, {begin, begin + choice.replicas}, 1, {choice.recompute, 1}});
      first = choice.last;
      gpus -= choice.replicas;
    }
    return plan_of({pipeline});
  }

  const PlanningContext& context_;
  const Router& router_;
  LayerCosts& costs_;
  std::vector<DeviceId> gpus_;
  int layers_ = 0, micro_batch_ = 1, micro_batches_ = 1;
  bool shards_ = false;                                   ///< the optimizer's states, over the replicas
  Budget& budget_;
  Bytes usable_{};
  std::vector<int> replicas_;
  std::vector<std::vector<std::vector<Choice>>> best_;    ///< [stages][first layer][GPUs]
  std::map<std::pair<int, int>, LayerRuns> runs_;
  std::map<std::pair<int, int>, BytesPerSecond> rates_;
  std::map<std::pair<std::size_t, double>, Seconds> transfers_;
};

class PipeDream final : public Strategy {
 public:
  explicit PipeDream(const StrategyOptions& options)
      : budget_(budget_of(options.values, kBudget)), simulate_(simulate_of(options.values, kSimulate)) {}

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const Router router(context.cluster);
    LayerCosts costs(context.cluster, context.workload, router);
    Finalists finalists(context, router, simulate_);
    Budget budget = budget_;
    for (int size = 1; size <= int(context.workload.global_batch); ++size)
      if (int(context.workload.global_batch) % size == 0) PipeDreamSearch(context, router, costs, size, budget).search(finalists);
    return finalists.choose("no cut of the layers fits the GPUs' memory", budget.ran_out());
  }

 private:
  Budget budget_;
  int simulate_;
};

const StrategyRegistrar registrar({
    .name = "pipedream",
    .summary = "stages with replicas that make the slowest stage fastest, run synchronously",
    .paper = "Narayanan et al., PipeDream: Generalized Pipeline Parallelism for DNN Training, SOSP'19",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of pipedream"),
    .simplified = {"one level of links instead of a hierarchy: a stage's replicas are neighbours in the cluster's order and exchange over their own ring",
                   "GPUs are taken to be alike, as in the paper: the slowest one's profile",
                   "at most 32 stages",
                   "its plan runs as 1F1B with one update a step, while PipeDream updates after every micro-batch with older weights"},
    .reconstructed = {"micro-batch sizes: all that divide the batch; the plans its model ranks best are simulated",
                      "recompute: the least that fits with as many micro-batches held as stages follow"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<PipeDream>(options); },
});

}  // namespace
}  // namespace trainyard
