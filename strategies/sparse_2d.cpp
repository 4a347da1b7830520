// Embedding tables over groups of GPUs, whole groups as replicas of each other; the dense part is plain data parallel.
// Paper: Two-dimensional Sparse Parallelism for large-scale deep learning recommendation models, arXiv 2508.03854
// (TorchRec's DMPCollection). Each step's all-to-alls span one group; replicas average their rows behind it.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/planning/finalists.hpp"
#include "sim/planning/registry.hpp"

namespace trainyard {
namespace {

constexpr int kSimulate = 4;

struct SparseOptions {
  int replicas = 0;  ///< copies of the tables; 1: full model parallel; 0: searched
  int every = 1;
  bool neighbours = false;  ///< a group's members are neighbours, its replicas far apart
  int simulate = kSimulate;
};

class SparseSearch {
 public:
  SparseSearch(const PlanningContext& context, const SparseOptions& options)
      : context_(context),
        options_(options),
        router_(context.cluster),
        module_(context.workload.modules[0]),
        gpus_(context.cluster.gpus()),
        finalists_(context, router_, options.simulate) {}

  PlanOrInfeasible search() {
    const bool has_tables = std::ranges::any_of(module_.types, [](const LayerType& type) {
      return std::ranges::any_of(type.operators, [](const Operator& op) { return op.group == "tables"; });
    });
    if (!has_tables) return Infeasible{"sparse_2d plans for embedding tables: the model has none", {}, {}};
    const int all = int(gpus_.size());
    for (int replicas = 1; replicas <= all / 2; ++replicas) {
      const bool wanted = options_.replicas == 0 ? (replicas & (replicas - 1)) == 0 : options_.replicas == replicas;
      if (all % replicas == 0 && wanted) add(all / replicas, replicas);
    }
    return finalists_.choose(nothing_.empty() ? fmt::format("{} copies of the tables do not divide {} GPUs",
                                                            std::max(1, options_.replicas), all)
                                              : nothing_);
  }

 private:
  void add(int group, int replicas) {
    if (auto problem = finalists_.check_and_add(plan_of(group, replicas))) nothing_ = *problem;
  }

  /// Pieces of tables that are read most first, in rounds in which every GPU gets one, the largest where the least is read: look-ups go by
  /// what is read, exchanges by how many pieces a GPU holds.
  std::vector<std::vector<int>> owners_of(int group) const {
    const std::vector<std::vector<double>>& loads = context_.workload.data.item_load;
    if (loads.empty()) return {};
    const std::vector<double>& load = loads.front();
    std::vector<int> order(load.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int i) { return load[std::size_t(i)]; });
    std::vector<std::vector<int>> owners(static_cast<std::size_t>(group));
    std::vector<double> held(owners.size(), 0);
    std::vector<std::size_t> ranks(owners.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t(0));
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % ranks.size() == 0) std::ranges::stable_sort(ranks, {}, [&](std::size_t rank) { return held[rank]; });
      const std::size_t rank = ranks[i % ranks.size()];
      owners[rank].push_back(order[i]);
      held[rank] += load[std::size_t(order[i])];
    }
    return owners;
  }

  Plan plan_of(int group, int replicas) const {
    Stage stage;
    stage.devices = gpus_;
    stage.chunks.resize(1);
    for (std::size_t i = 0; i < module_.layers.size(); ++i) stage.chunks[0].push_back(id_at<LayerId>(i));
    Rule dense;
    dense.settings.layout = Layout{equal_axis(AxisKind::data, int(gpus_.size()))};
    dense.settings.zero = 0;
    Rule tables;
    tables.operators = "tables";
    const Axis shared = equal_axis(AxisKind::items, group), copies = equal_axis(AxisKind::data, replicas);
    tables.settings.layout = options_.neighbours ? Layout{copies, shared} : Layout{shared, copies};
    if (replicas > 1) tables.settings.sync = Sync{SyncWhat::weights, options_.every, 0, {}};
    tables.settings.owners = owners_of(group);
    stage.rules = {std::move(dense), std::move(tables)};
    Part part;
    part.stages.push_back(std::move(stage));
    part.pipelines.push_back({context_.workload.global_batch, {}, 1, {StageId{}}});
    Plan plan;
    plan.phases.push_back({{}, {std::move(part)}, {}});
    return plan;
  }

  const PlanningContext& context_;
  const SparseOptions& options_;
  Router router_;
  const Module& module_;
  std::vector<DeviceId> gpus_;
  Finalists finalists_;
  std::string nothing_;
};

class Sparse2d final : public Strategy {
 public:
  explicit Sparse2d(const StrategyOptions& options)
      : options_{int(options.values["replicas"].integer_or(0)), int(options.values["every"].integer_or(1)),
                 options.values["neighbours"].boolean_or(false), simulate_of(options.values, kSimulate)} {}
  PlanOrInfeasible plan(const PlanningContext& context) override { return SparseSearch(context, options_).search(); }

 private:
  SparseOptions options_;
};

const StrategyRegistrar registrar({
    .name = "sparse_2d",
    .summary = "embedding tables over groups of GPUs, each group a copy that is averaged with the others; the group's "
               "size is searched",
    .paper = "Two-dimensional Sparse Parallelism for Large Scale Deep Learning Recommendation Model Training, arXiv "
             "2508.03854",
    .options = schema::object(
        {schema::optional(
             "replicas",
             schema::integer(
                 between(1, 1 << 20),
                 "copies of the tables, each over a group of GPUs; 1: full model parallel; default: searched")),
         schema::optional("every", schema::integer(between(1, 1e6), "steps between two averages of the copies"), "1"),
         schema::optional(
             "neighbours",
             schema::boolean("a group's GPUs are neighbours, and copies far apart (use_inter_host_allreduce)"),
             "false"),
         simulate_option(kSimulate)},
        "options of sparse_2d"),
    .simplified = {"searched: powers of two",
                   "every GPU holds equally many bytes of tables; what is read of them is balanced piece by piece",
                   "pieces by columns and rows are given in the model, not chosen"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Sparse2d>(options); },
});

}  // namespace
}  // namespace trainyard
