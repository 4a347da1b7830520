// Domino: micro-batches in slices, so that a slice's tensor-parallel collective runs beside another slice's products.
// Paper: Wang et al., Domino: Eliminating Communication in LLM Training via Generic Tensor Slicing and Overlapping, arXiv 2409.15241.
// A modifier of any Plan: with `of` another strategy's Plan gets slices; without it Megatron's layouts are searched together with them.
#include <fmt/format.h>

#include <algorithm>

#include "sim/config/schema.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/uniform_search.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr int kSimulate = 20;
/// Slices of the batch, of the second matrix, and of both.
constexpr Slices kSlices[] = {{2, 1}, {4, 1}, {1, 2}, {2, 2}};

Settings sliced(const Slices& slices) {
  Settings settings;
  settings.slices = slices;
  settings.streams[Traffic::tensor] = "tensor";
  return settings;
}

bool has_tensor_axis(const Plan& plan) {
  return std::ranges::any_of(plan.phases[0].parts[0].stages, [](const Stage& stage) {
    return std::ranges::any_of(stage.rules, [](const Rule& rule) { return rule.settings.layout && axis_size(*rule.settings.layout, AxisKind::tensor) > 1; });
  });
}

class Domino final : public Strategy {
 public:
  Domino(const StrategyOptions& options, Diagnostics& diagnostics) : simulate_(simulate_of(options.values, kSimulate)) {
    if (const View of = options.values["of"]) read_modified(of, options.directory, diagnostics);
  }

  void check(const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics) const override {
    if (modified_) modified_->check(cluster, workload, diagnostics);
  }

  PlanOrInfeasible plan(const PlanningContext& context) override { return modified_ ? modify(context) : search(context); }

 private:
  void read_modified(const View& of, const std::string& directory, Diagnostics& diagnostics) {
    const bool with_options = of.is_map();
    if (with_options && of.keys().size() != 1) return diagnostics.add(of.place(), "of is NAME or {NAME: {OPTION: VALUE}}");
    name_ = with_options ? of.keys().front() : of.text();
    const StrategyRegistry& registry = StrategyRegistry::instance();
    const StrategyInfo* info = registry.find(name_);
    if (info == nullptr || name_ == "domino") return diagnostics.add(of.place(), unknown_name("strategy to modify", name_, registry.names()));
    const View own = with_options ? of[name_] : View();
    if (!own || trainyard::check(own.value(), info->options, diagnostics)) modified_ = info->make({own, directory}, diagnostics);
  }

  /// Megatron-LM's layouts, each whole and in slices.
  PlanOrInfeasible search(const PlanningContext& context) const {
    UniformSearchOptions options;
    options.simulate = simulate_;
    for (const Slices& slices : kSlices) options.settings.push_back(sliced(slices));
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < context.cluster.nodes.size(); ++i) nodes.push_back(id_at<NodeId>(i));
    UniformOrInfeasible found = search_uniform(context, nodes, options);
    if (auto* infeasible = std::get_if<Infeasible>(&found)) return std::move(*infeasible);
    return std::move(std::get<UniformPlan>(found).planned);
  }

  /// The other strategy's Plan and its sliced forms, whichever is fastest.
  PlanOrInfeasible modify(const PlanningContext& context) const {
    PlanOrInfeasible base = modified_->plan(context);
    if (auto* infeasible = std::get_if<Infeasible>(&base)) return std::move(*infeasible);
    const Plan whole = std::get<Planned>(base).plan;
    if (!has_tensor_axis(whole)) return Infeasible{fmt::format("the Plan of {} has no tensor axis whose collectives slices could hide", name_), {}, {}};
    const Router router(context.cluster);
    Finalists finalists(context, router, simulate_);
    const auto add = [&](const Plan& plan) {
      if (plan.check(context.cluster, context.workload).empty()) finalists.add(plan, estimate_step(plan, context.cluster, context.workload, router).step_time);
    };
    add(whole);
    for (const Slices& slices : kSlices) {
      Plan plan = whole;
      for (Stage& stage : plan.phases[0].parts[0].stages) stage.rules.push_back({{}, "", {}, sliced(slices)});
      add(plan);
    }
    return finalists.choose(fmt::format("the Plan of {} cannot be simulated", name_));
  }

  int simulate_;
  std::string name_;
  std::unique_ptr<Strategy> modified_;
};

const StrategyRegistrar registrar({
    .name = "domino",
    .summary = "slices of each micro-batch and of row-cut products hide tensor-parallel collectives; modifies any Plan",
    .paper = "Wang et al., Domino: Eliminating Communication in LLM Training via Generic Tensor Slicing and Overlapping, arXiv 2409.15241",
    .options = schema::object({schema::optional("of", schema::any("the strategy whose Plan is sliced, NAME or {NAME: {OPTION: VALUE}}; default: Megatron's layouts, searched with slices")),
                               simulate_option(kSimulate)},
                              "options of domino"),
    .simplified = {"2 or 4 slices of the batch, 2 of the second matrix, or 2 of both; the paper leaves the numbers to the user",
                   "slices wait for each other where a bucket of gradients begins",
                   "what CUDA graphs save of launches comes with the software, not with the strategy"},
    .reconstructed = {"the order of kernels: slices take turns at every collective"},
    .make = [](const StrategyOptions& options, Diagnostics& diagnostics) { return std::make_unique<Domino>(options, diagnostics); },
});

}  // namespace
}  // namespace trainyard
