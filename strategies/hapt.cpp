// HAPT (later HARP): data and tensor groups inside homogeneous sub-clusters, a finely cut pipeline across them, and a 1f1b whose warm-up
// is as deep as slow links ask for (H-1F1B).
// Paper: HAPT: Heterogeneity-Aware Automated Parallel Training on Heterogeneous Clusters, arXiv 2509.24859.
// For each sub-cluster: how wide its stages are and which tensor size they use; then the cut whose slowest stage is fastest.
#include <algorithm>
#include <cmath>

#include "sim/planning/budget.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/searched_strategy.hpp"
#include "sim/planning/stage_chain.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 1500;
constexpr int kSimulate = 6, kMostMicroBatches = 512;

/// Stages of one sub-cluster: `data` tensor groups each.
struct Submesh {
  int tensor = 1, data = 1;
  std::vector<StageUnits> stages;
};

/// The passes of one stage with `depth` micro-batches in flight.
std::vector<Entry> one_f_one_b(int micro_batches, int depth) {
  std::vector<Entry> entries;
  int forward = 0;
  const auto add = [&](char kind, int micro_batch) { entries.push_back({{kind, {}, micro_batch, 0}, std::nullopt}); };
  while (forward < std::min(depth, micro_batches)) add('F', forward++);
  for (int backward = 0; backward < micro_batches; ++backward) {
    add('B', backward);
    if (forward < micro_batches) add('F', forward++);
  }
  return entries;
}

class HaptSearch {
 public:
  HaptSearch(const PlanningContext& context, Budget budget, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_),
        tools_{context, router_, costs_}, finalists_(context, router_, simulate), budget_(budget) {}

  PlanOrInfeasible search() {
    const std::vector<NodeId> nodes = nodes_with_gpus(context_.cluster);
    for (const std::vector<NodeId>& island : islands(context_.cluster, router_, nodes))
      for (const std::vector<NodeId>& kind : nodes_by_kind(context_.cluster, island)) choices_.push_back(submeshes(kind));
    const int batch = int(context_.workload.global_batch);
    // Few stages first: they are the likeliest to be good when the budget is short.
    for (const std::vector<Submesh>& sub_cluster : choices_)
      if (sub_cluster.empty()) return Infeasible{"a sub-cluster has no GPUs that tensor groups can use", std::nullopt, {}};
    for (const std::vector<int>& pick : picks()) {
      std::vector<StageUnits> stages;
      int widest = 1;
      bool divides = true;
      for (std::size_t c = 0; c < pick.size(); ++c) {
        const Submesh& mesh = choices_[c][pick[c]];
        stages.insert(stages.end(), mesh.stages.begin(), mesh.stages.end());
        widest = std::max(widest, mesh.data);
      }
      for (const StageUnits& stage : stages) divides = divides && widest % int(stage.size()) == 0;
      if (!divides || int(stages.size()) > tools_.layers()) continue;
      for (int samples = widest; samples <= batch && samples <= 256 * widest; samples *= 2)
        if (batch % samples == 0 && batch / samples <= kMostMicroBatches && !consider(stages, samples)) break;
    }
    return finalists_.choose("no cut into homogeneous stages holds the model and divides the batch", budget_.ran_out());
  }

 private:
  /// Every equal split of a sub-cluster into stages.
  std::vector<Submesh> submeshes(const std::vector<NodeId>& nodes) const {
    std::vector<Submesh> all;
    const std::vector<int> sizes = tensor_sizes(context_.cluster, nodes, context_.workload);
    for (auto tensor = sizes.rbegin(); tensor != sizes.rend(); ++tensor) {
      const std::vector<TensorUnit> units = tensor_units(context_.cluster, nodes, *tensor);
      for (int stages = 1; stages <= int(units.size()) && stages <= tools_.layers(); ++stages)
        if (int(units.size()) % stages == 0) all.push_back({*tensor, int(units.size()) / stages, stages_over({units}, int(units.size()) / stages)});
    }
    std::ranges::stable_sort(all, {}, [](const Submesh& mesh) { return mesh.stages.size(); });
    return all;
  }

  /// Every choice of one submesh a sub-cluster, by the total of their places in the lists; as many as the budget may need.
  std::vector<std::vector<int>> picks() const {
    std::vector<std::vector<int>> all{{}};
    for (const std::vector<Submesh>& options : choices_) {
      std::vector<std::vector<int>> longer;
      for (const std::vector<int>& pick : all)
        for (int option = 0; option < int(options.size()); ++option) {
          longer.push_back(pick);
          longer.back().push_back(option);
        }
      std::ranges::stable_sort(longer, {}, [](const std::vector<int>& pick) {
        int sum = 0;
        for (const int option : pick) sum += option;
        return sum;
      });
      if (longer.size() > std::size_t(kBudget)) longer.resize(kBudget);
      all = std::move(longer);
    }
    return all;
  }

  /// False when the budget is spent or nothing fits, so that larger micro-batches need not be tried.
  bool consider(const std::vector<StageUnits>& stages, int samples) {
    for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
      if (!budget_.take()) return false;
      const ChainShape shape{samples, int(context_.workload.global_batch) / samples, recompute, tools_.default_zero()};
      if (add_candidate(stages, shape)) return true;
    }
    return false;
  }

  bool add_candidate(const std::vector<StageUnits>& stages, const ChainShape& shape) {
    std::vector<StageLoad> loads = chain_loads(tools_, stages, shape);
    auto cut = balance_layers(loads);
    if (!cut) return false;
    const std::vector<int> depth = depths(stages, *cut, shape);
    std::vector<Seconds> hidden;
    for (std::size_t s = 0; s < loads.size(); ++s) {
      loads[s].in_flight = depth[s];
      hidden.push_back(loads[s].transfer);
      loads[s].transfer = Seconds(0);  // beside the passes, once the warm-up is deep enough
    }
    cut = balance_layers(loads);
    if (!cut) return false;
    Seconds fill{};
    for (const Seconds hop : hidden) fill += hop;
    finalists_.add(plan_from(stages, *cut, depth, shape),
                   cut->step(shape.micro_batches) + fill + exposed_exchange(tools_, stages, loads, cut->bounds, shape));
    return true;
  }

  /// 1f1b's S - s, and for every hop on the way ceil(2 · hop / (f + b)) more, so that a message there and back waits for nobody.
  std::vector<int> depths(const std::vector<StageUnits>& stages, const BalancedCut& cut, const ChainShape& shape) const {
    std::vector<int> depth(stages.size(), 1);
    const Seconds pass = cut.slowest;
    for (std::size_t s = stages.size() - 1; s-- > 0;)
      depth[s] = depth[s + 1] + 1 + int(std::ceil(2.0 * hop_time(tools_, stages[s], stages[s + 1], shape) / pass - 1e-9));
    for (int& held : depth) held = std::min(held, shape.micro_batches);
    return depth;
  }

  Plan plan_from(const std::vector<StageUnits>& stages, const BalancedCut& cut, const std::vector<int>& depth, const ChainShape& shape) const {
    Plan plan = plan_of({chain_choice(stages, cut.bounds, shape)}, shape.zero, stages.size() > 1 ? "table" : "1f1b");
    if (stages.size() == 1) return plan;
    PlanPhase& phase = plan.phases[0];
    for (std::size_t s = 0; s < stages.size(); ++s)
      phase.lanes.push_back({phase.parts[0].stages[s].devices, "compute", one_f_one_b(shape.micro_batches, depth[s])});
    return plan;
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  ChainTools tools_;
  Finalists finalists_;
  Budget budget_;
  std::vector<std::vector<Submesh>> choices_;   ///< [sub-cluster]
};

const StrategyRegistrar registrar({
    .name = "hapt",
    .summary = "parallel inside homogeneous sub-clusters, a pipeline across them whose warm-up is as deep as slow links ask for",
    .paper = "HAPT (HARP): Heterogeneity-Aware Automated Parallel Training on Heterogeneous Clusters, arXiv 2509.24859",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of hapt"),
    .simplified = {"stages of one sub-cluster are equally wide; sub-clusters stay in the cluster's order",
                   "inside a stage data and tensor axes, with ZeRO where the software has it; no other intra-operator plans"},
    .reconstructed = {"the planner: equal submeshes a sub-cluster and a dynamic program for the cut, in the manner of Alpa",
                      "extra micro-batches in warm-up: ceil(2 x time of a transfer / (f + b)) for each hop on the way to the last stage"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<SearchedStrategy<HaptSearch>>(options, kBudget, kSimulate); },
});

}  // namespace
}  // namespace trainyard
