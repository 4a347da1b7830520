// Galvatron: every layer of an even pipeline gets its own mix of tensor, data and sharded data parallelism, by dynamic programming
// under the GPUs' memory.
// Paper: Miao et al., Galvatron: Efficient Transformer Training over Multiple GPUs Using Automatic Parallelism, PVLDB 16(3), 2022,
// arXiv 2211.13878.
#include "sim/planning/layout_pipeline.hpp"
#include "sim/planning/registry.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 1'000'000;
constexpr int kSimulate = 16;
/// Of the memory that the decision tree may plan with; what it does not see (transients, fragmentation) needs the rest.
constexpr double kMemoryShares[] = {1.0, 0.9, 0.8};

class Galvatron final : public Strategy {
 public:
  explicit Galvatron(const StrategyOptions& options)
      : budget_(budget_of(options.values, kBudget)), simulate_(simulate_of(options.values, kSimulate)) {}

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const Router router(context.cluster);
    LayoutPipelines pipelines(context, router, {RecomputeKind::none});
    Finalists finalists(context, router, simulate_);
    Budget budget = budget_;
    for (LayoutPipeline& shape : pipelines.shapes())
      for (const double share : kMemoryShares) {
        shape.memory_share = share;
        if (const auto priced = pipelines.price(shape, budget)) pipelines.add_to(finalists, shape, *priced);
      }
    return finalists.choose("no layouts of the layers fit the GPUs' memory", budget.ran_out());
  }

 private:
  Budget budget_;
  int simulate_;
};

const StrategyRegistrar registrar({
    .name = "galvatron",
    .summary = "a layout of its own for every layer of an even pipeline, by dynamic programming under a memory budget",
    .paper = "Miao et al., Galvatron: Efficient Transformer Training over Multiple GPUs Using Automatic Parallelism, PVLDB 16(3), 2022, arXiv 2211.13878",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of galvatron"),
    .simplified = {"GPUs of a stage are taken to be as fast and as large as the slowest and smallest, since the paper's clusters are homogeneous",
                   "micro-batch sizes up to eight samples a GPU; the global batch is given, so the outer loop over batch sizes is one over micro-batches",
                   "sequence (Ulysses) parallelism of its later code is left out"},
    .reconstructed = {"memory in 256 steps, to the nearest; the search runs with 100, 90 and 80 % of it, since its model knows no transients",
                      "exchanges and backward passes that overlap slow each other by 1.2, in the range of its code's coefficients"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Galvatron>(options); },
});

}  // namespace
}  // namespace trainyard
