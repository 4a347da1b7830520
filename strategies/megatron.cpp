// Megatron-LM's three-dimensional layout: every GPU gets equal work, so on a mixed cluster the slowest sets the pace.
// Paper: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC'21.
// Simplified: the paper leaves the choice of sizes to heuristics; here all sizes that its rules allow are ranked in closed form and
// the best are simulated. Interleaved schedules are not tried yet.
#include "sim/planning/registry.hpp"
#include "sim/planning/uniform_search.hpp"

namespace trainyard {
namespace {

class Megatron final : public Strategy {
 public:
  explicit Megatron(const StrategyOptions& options) {
    search_.simulate = int(options.values["simulate"].integer_or(search_.simulate));
    search_.most_context = int(options.values["context"].integer_or(1));
  }

  PlanOrInfeasible plan(const PlanningContext& context) override {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < context.cluster.nodes.size(); ++i) nodes.push_back(id_at<NodeId>(i));
    UniformOrInfeasible found = search_uniform(context, nodes, search_);
    if (auto* infeasible = std::get_if<Infeasible>(&found)) return std::move(*infeasible);
    return std::move(std::get<UniformPlan>(found).planned);
  }

 private:
  UniformSearchOptions search_;
};

const StrategyRegistrar registrar({
    .name = "megatron",
    .summary = "equal tensor x pipeline x data layout over all GPUs, the best of what Megatron-LM's rules allow",
    .paper = "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC'21, arXiv 2104.04473",
    .options = schema::object({schema::optional("simulate", schema::integer(between(1, 10000), "candidates that are simulated"), "20"),
                               schema::optional("context", schema::integer(between(1, 1024), "largest degree of a context axis that is tried, powers of two"), "1")},
                              "options of megatron"),
    .simplified = {"sizes are searched instead of chosen by heuristics", "interleaved schedules are not tried yet"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Megatron>(options); },
});

}  // namespace
}  // namespace trainyard
