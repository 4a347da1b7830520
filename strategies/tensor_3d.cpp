// Products on a cube of GPUs: weights, activations and products are spread evenly over three axes.
// Paper: Bian, Xu, Wang and You, Maximizing Parallelism in Distributed Training for Huge Neural Networks, arXiv 2105.14450 (2021), with
// the product of Agarwal et al., IBM J. R&D 39 (1995). Beside it, by an option: two dimensions (Optimus, arXiv 2104.05343: SUMMA with a
// broadcast a block) and one (Megatron-LM, arXiv 1909.08053), as in the paper's comparison.
#include <fmt/format.h>

#include <cmath>

#include "sim/planning/device_groups.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/registry.hpp"

namespace trainyard {
namespace {

constexpr int kSimulate = 6, kMostSide = 32;

class CubeSearch {
 public:
  CubeSearch(const PlanningContext& context, int dimensions, int simulate)
      : context_(context), router_(context.cluster), dimensions_(dimensions), gpus_(context.cluster.gpus()), finalists_(context, router_, simulate) {}

  /// Where no grid of more than one device divides all GPUs, the last nodes are left out until one does.
  PlanOrInfeasible search() {
    std::vector<NodeId> nodes = nodes_with_gpus(context_.cluster);
    for (; !nodes.empty() && finalists_.empty(); nodes.pop_back()) {
      gpus_.clear();
      for (const NodeId node : nodes)
        for (const DeviceId gpu : gpus_of(context_.cluster, node)) gpus_.push_back(gpu);
      for (int side = 2; side <= kMostSide * (dimensions_ == 1 ? kMostSide : 1); ++side) add_side(side);
    }
    return finalists_.choose(nothing_.empty() ? fmt::format("no grid of {} equal sides divides the GPUs", dimensions_) : nothing_);
  }

 private:
  /// Equal sides; what they leave of the GPUs are replicas.
  void add_side(int side) {
    const int members = int(std::llround(std::pow(side, dimensions_)));
    if (gpus_.size() % std::size_t(members) != 0) return;
    const int data = int(gpus_.size()) / members;
    const double samples = context_.workload.global_batch / data;
    const int parts = dimensions_ == 1 ? 1 : dimensions_ == 2 ? side : side * side;   // rows x inner: attention works on whole samples
    for (int micro_batch = parts; micro_batch <= samples; micro_batch *= 2)
      if (std::fmod(samples, micro_batch) == 0) add_micro_batch(side, data, int(samples) / micro_batch);
  }

  void add_micro_batch(int side, int data, int micro_batches) {
    for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
      if (auto problem = finalists_.check_and_add(plan_on(side, data, micro_batches, recompute)); problem && nothing_.empty()) nothing_ = *problem;
  }

  Layout layout_on(int side, int data) const {
    if (dimensions_ == 1) return {equal_axis(AxisKind::data, data), equal_axis(AxisKind::tensor, side)};
    Layout layout{equal_axis(AxisKind::data, data), equal_axis(AxisKind::rows, side), equal_axis(AxisKind::columns, side)};
    if (dimensions_ == 3) layout.push_back(equal_axis(AxisKind::inner, side));
    return layout;
  }

  Plan plan_on(int side, int data, int micro_batches, RecomputeKind recompute) const {
    const PassId pass{};
    const Module& module = context_.workload.modules[index(context_.workload.passes[index(pass)].module)];
    Stage stage;
    stage.devices = gpus_;
    stage.chunks.resize(1);
    for (std::size_t i = 0; i < module.layers.size(); ++i) stage.chunks[0].push_back(id_at<LayerId>(i));
    Rule rule;
    rule.settings.layout = layout_on(side, data);
    rule.settings.recompute = Recompute{recompute, 1};
    if (dimensions_ == 2) rule.settings.wire.emplace().all_gather = Algorithm::grouped;
    stage.rules.push_back(std::move(rule));
    Part part;
    part.pass = pass;
    part.stages.push_back(std::move(stage));
    part.pipelines.push_back({context_.workload.global_batch, {}, micro_batches, {StageId{}}});
    Plan plan;
    plan.phases.push_back({{}, {std::move(part)}, {}});
    return plan;
  }

  const PlanningContext& context_;
  Router router_;
  int dimensions_;
  std::vector<DeviceId> gpus_;
  Finalists finalists_;
  std::string nothing_;
};

class Tensor3d final : public Strategy {
 public:
  explicit Tensor3d(const StrategyOptions& options)
      : dimensions_(int(options.values["dimensions"].integer_or(3))), simulate_(simulate_of(options.values, kSimulate)) {}
  PlanOrInfeasible plan(const PlanningContext& context) override { return CubeSearch(context, dimensions_, simulate_).search(); }

 private:
  int dimensions_, simulate_;
};

const StrategyRegistrar registrar({
    .name = "tensor_3d",
    .summary = "every product on a cube of GPUs, weights and activations spread over all of it; replicas of the cube share the batch",
    .paper = "Bian et al., Maximizing Parallelism in Distributed Training for Huge Neural Networks, arXiv 2105.14450",
    .options = schema::object({schema::optional("dimensions", schema::integer(between(1, 3), "sides of the grid: 3, or 2 (SUMMA) or 1 (Megatron-LM) for comparison"), "3"),
                               simulate_option(kSimulate)},
                              "options of tensor_3d"),
    .simplified = {"the paper has one cube; where the GPUs are more, replicas of it train in parallel",
                   "vectors (biases, norms) are spread like matrices and travel with them",
                   "no collective runs beside a kernel"},
    .reconstructed = {"which activations stay gathered: none, so that the backward pass gathers dC, B and A and scatters dA and dB (five collectives a product)"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Tensor3d>(options); },
});

}  // namespace
}  // namespace trainyard
