// HETHUB: collectives stay inside one kind of accelerator, only the pipeline crosses kinds, stages are as long as they are fast.
// Paper: Xu et al., HETHUB: A Heterogeneous distributed hybrid training system for large-scale models, arXiv 2405.16256.
// A tree of three levels: (data, tensor, micro-batch); which run of stages goes to which kind; layers of each stage. Leaves are
// valued by the predictor's 1f1b time. The distance to the theoretical upper bound, the sum of what each kind would deliver alone, is
// reported.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/planning/budget.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/searched_strategy.hpp"
#include "sim/planning/stage_chain.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 6000;   ///< half of it for the search, what is left for the bound
constexpr int kSimulate = 6, kMostMicroBatch = 256;
constexpr std::size_t kMostOrderedKinds = 4;   ///< beyond, kinds stay in the cluster's order

using Domains = std::vector<std::vector<NodeId>>;

/// A leaf of the tree.
struct Leaf {
  std::vector<StageUnits> stages;
  ChainShape shape;
  BalancedCut cut;
  Seconds time{};
};

class HethubSearch {
 public:
  HethubSearch(const PlanningContext& context, Budget budget, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_),
        tools_{context, router_, costs_}, finalists_(context, router_, simulate), budget_(budget) {}

  PlanOrInfeasible search() {
    const std::vector<NodeId> nodes = nodes_with_gpus(context_.cluster);
    const Domains domains = nodes_by_kind(context_.cluster, nodes);
    Budget searching((budget_.left() + 1) / 2), bound(budget_.left() / 2);
    walk(domains, nodes, searching, [&](const Leaf& leaf) { finalists_.add(plan_of({chain_choice(leaf.stages, leaf.cut.bounds, leaf.shape)}, leaf.shape.zero), leaf.time); });
    PlanOrInfeasible answer = finalists_.choose("no layout keeps data and tensor groups inside one kind of GPU and holds the model", searching.ran_out());
    if (auto* planned = std::get_if<Planned>(&answer)) planned->remarks.push_back(distance_to_bound(domains, *planned->estimated_step_time, bound));
    return answer;
  }

 private:
  template <class Visit>
  void walk(const Domains& domains, const std::vector<NodeId>& nodes, Budget& budget, Visit visit) {
    const std::vector<int> sizes = tensor_sizes(context_.cluster, nodes, context_.workload);
    for (auto tensor = sizes.rbegin(); tensor != sizes.rend(); ++tensor) {
      std::vector<std::vector<TensorUnit>> units;
      std::size_t most = 0;
      for (const std::vector<NodeId>& domain : domains) {
        units.push_back(tensor_units(context_.cluster, domain, *tensor));
        most = std::max(most, units.back().size());
      }
      for (int data = 1; data <= int(most); ++data)
        if (std::fmod(context_.workload.global_batch, data) == 0) walk_orders(units, data, budget, visit);
    }
  }

  template <class Visit>
  void walk_orders(const std::vector<std::vector<TensorUnit>>& domains, int data, Budget& budget, Visit visit) {
    std::vector<int> order(domains.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      std::vector<std::vector<TensorUnit>> ordered;
      for (const int domain : order) ordered.push_back(domains[domain]);
      const std::vector<StageUnits> stages = stages_over(ordered, data);
      if (!stages.empty() && int(stages.size()) <= tools_.layers()) walk_shapes(stages, data, budget, visit);
    } while (domains.size() <= kMostOrderedKinds && std::ranges::next_permutation(order).found);
  }

  template <class Visit>
  void walk_shapes(const std::vector<StageUnits>& stages, int data, Budget& budget, Visit visit) {
    const int samples = int(context_.workload.global_batch) / data;
    bool fits = true;
    for (int micro_batch = 1; fits && micro_batch <= std::min(samples, kMostMicroBatch) && samples % micro_batch == 0; micro_batch *= 2) {
      fits = false;
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
        if (!budget.take()) return;
        Leaf leaf{stages, {data * micro_batch, samples / micro_batch, recompute, tools_.default_zero()}, {}, {}};
        const std::vector<StageLoad> loads = chain_loads(tools_, stages, leaf.shape);
        const auto cut = balance_layers(loads);
        if (!cut) continue;
        fits = true;
        leaf.cut = *cut;
        leaf.time = cut->step(leaf.shape.micro_batches) + exposed_exchange(tools_, stages, loads, cut->bounds, leaf.shape);
        visit(leaf);
      }
    }
  }

  /// Each kind alone by the same predictor, all within `budget`; a kind that cannot hold the model leaves the bound unknown.
  std::string distance_to_bound(const Domains& domains, Seconds time, Budget& budget) {
    double rate = 0;
    for (const std::vector<NodeId>& domain : domains) {
      std::optional<Seconds> best;
      walk({domain}, domain, budget, [&](const Leaf& leaf) { best = std::min(best.value_or(leaf.time), leaf.time); });
      if (budget.ran_out()) return "no theoretical upper bound: the budget ended before every kind of GPU had been looked at alone";
      if (!best) return fmt::format("no theoretical upper bound: {} alone cannot hold the model", context_.cluster.type_of(gpus_of(context_.cluster, domain[0])[0]).name);
      rate += 1 / best->value;
    }
    return fmt::format("{:.1f} % of the theoretical upper bound, the sum of what each kind of GPU alone would deliver (both by its own model)",
                       100 / (time.value * rate));
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  ChainTools tools_;
  Finalists finalists_;
  Budget budget_;
};

const StrategyRegistrar registrar({
    .name = "hethub",
    .summary = "collectives inside one kind of GPU, a pipeline of unequal stages across kinds, and how far that is from the ideal",
    .paper = "Xu et al., HETHUB: A Heterogeneous distributed hybrid training system for large-scale models, arXiv 2405.16256",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of hethub"),
    .simplified = {"the predictor profiles layers in closed form instead of on nodes",
                   "whether a transfer between kinds goes through the host follows from the cluster's network cards"},
    .reconstructed = {"levels of the search tree and its pruning by memory: the planner's text could not be read",
                      "layers go to stages so that the slowest is fastest, which is in proportion to speed where memory allows"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<SearchedStrategy<HethubSearch>>(options, kBudget, kSimulate); },
});

}  // namespace
}  // namespace trainyard
