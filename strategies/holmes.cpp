// Holmes: gradients stay on one kind of network card, the pipeline alone crosses clusters, stages are as long as they are fast.
// Paper: Yang et al., Holmes: Towards Distributed Training Across Clusters with Heterogeneous NIC Environment, arXiv 2312.03549.
// Clusters are nodes that reach each other by remote memory access; each gets whole stages, tensor groups stay in a node, data groups in a
// cluster; layers in proportion to the stages' speed; optimizer states shared among data ranks and exchanged beside the backward pass.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/planning/finalists.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/stage_chain.hpp"

namespace trainyard {
namespace {

constexpr int kSimulate = 8, kMostMicroBatch = 256;
constexpr std::size_t kMostOrderedClusters = 3;   ///< beyond, clusters stay in order

class HolmesSearch {
 public:
  HolmesSearch(const PlanningContext& context, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_),
        tools_{context, router_, costs_}, finalists_(context, router_, simulate) {}

  PlanOrInfeasible search() {
    const std::vector<NodeId> nodes = nodes_with_gpus(context_.cluster);
    const auto clusters = islands(context_.cluster, router_, nodes);
    for (const int tensor : tensor_sizes(context_.cluster, nodes, context_.workload)) {
      std::vector<std::vector<TensorUnit>> units;
      std::size_t most = 0;
      for (const std::vector<NodeId>& cluster : clusters) {
        units.push_back(tensor_units(context_.cluster, cluster, tensor));
        most = std::max(most, units.back().size());
      }
      for (int data = 1; data <= int(most); ++data)
        if (std::fmod(context_.workload.global_batch, data) == 0) consider(units, data);
    }
    return finalists_.choose("no layout keeps data groups inside one network and holds the model");
  }

 private:
  void consider(const std::vector<std::vector<TensorUnit>>& clusters, int data) {
    std::vector<int> order(clusters.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      std::vector<std::vector<TensorUnit>> ordered;
      for (const int cluster : order) ordered.push_back(clusters[cluster]);
      const std::vector<StageUnits> stages = stages_over(ordered, data);
      if (!stages.empty() && int(stages.size()) <= tools_.layers()) consider_stages(stages, data);
    } while (clusters.size() <= kMostOrderedClusters && std::ranges::next_permutation(order).found);
  }

  void consider_stages(const std::vector<StageUnits>& stages, int data) {
    const int samples = int(context_.workload.global_batch) / data;
    bool fits = true;
    for (int micro_batch = 1; fits && micro_batch <= std::min(samples, kMostMicroBatch) && samples % micro_batch == 0; micro_batch *= 2) {
      fits = false;
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
        const ChainShape shape{data * micro_batch, samples / micro_batch, recompute, 1};
        const std::vector<StageLoad> loads = chain_loads(tools_, stages, shape);
        const auto cut = proportional_cut(loads);
        if (!cut) continue;
        fits = true;
        finalists_.add(plan_of({chain_choice(stages, cut->bounds, shape)}, shape.zero),
                       cut->step(shape.micro_batches) + exposed_exchange(tools_, stages, loads, cut->bounds, shape));
        break;  // recompute only where it must
      }
    }
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  ChainTools tools_;
  Finalists finalists_;
};

class Holmes final : public Strategy {
 public:
  explicit Holmes(const StrategyOptions& options) : simulate_(simulate_of(options.values, kSimulate)) {}
  PlanOrInfeasible plan(const PlanningContext& context) override { return HolmesSearch(context, simulate_).search(); }

 private:
  int simulate_ = kSimulate;
};

const StrategyRegistrar registrar({
    .name = "holmes",
    .summary = "data groups on one kind of network card, a pipeline across clusters, layers in proportion to speed",
    .paper = "Yang et al., Holmes: Towards Distributed Training Across Clusters with Heterogeneous NIC Environment, ICPP 2024, arXiv 2312.03549",
    .options = schema::object({simulate_option(kSimulate)}, "options of holmes"),
    .simplified = {"the paper's rules leave sizes open: those that its rules allow are ranked in closed form and the best simulated",
                   "each process group's card follows from the simulated network: a group inside a cluster never falls back to TCP"},
    .reconstructed = {"rules from memory and a summary: tensor groups in a node, data groups in a cluster, layers ~ L x speed / sum of speeds"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Holmes>(options); },
});

}  // namespace
}  // namespace trainyard
