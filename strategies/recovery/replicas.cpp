#include "strategies/recovery/replicas.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/planning/device_groups.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_balance.hpp"
#include "sim/planning/stage_plan.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

/// Of the numbers of pipelines, so many that fit are simulated, the best in closed form.
constexpr int kSimulated = 3;

/// The layout that the stage's rules give it; default: data over all.
Layout layout_of(const Stage& stage) {
  const Settings written = written_settings(stage, stage.chunks.front().front());
  return written.layout ? *written.layout : Layout{equal_axis(AxisKind::data, int(stage.devices.size()))};
}

/// Data outermost, then tensor, nothing else.
bool is_plain(const Stage& stage) {
  if (stage.chunks.size() != 1 || stage.chunks.front().empty()) return false;
  const Layout layout = layout_of(stage);
  const bool known = std::ranges::all_of(layout, [](const Axis& a) { return a.size() == 1 || a.kind == AxisKind::data || a.kind == AxisKind::tensor; });
  return known && members(layout) == int(stage.devices.size()) &&
         (layout.size() < 2 || axis_size(layout, AxisKind::data) == 1 || layout.front().kind == AxisKind::data);
}

Stage of_rank(const Stage& stage, int rank, int ranks) {
  Stage one = stage;
  const auto each = std::ptrdiff_t(stage.devices.size()) / ranks;
  one.devices.assign(stage.devices.begin() + rank * each, stage.devices.begin() + (rank + 1) * each);
  for (Rule& rule : one.rules) rule.settings.layout.reset();
  Rule layout;
  layout.settings.layout = Layout{equal_axis(AxisKind::tensor, int(each))};
  if (each == 1) layout.settings.layout = Layout{equal_axis(AxisKind::data, 1)};
  one.rules.push_back(layout);
  return one;
}

/// Whole numbers that add up to `total`, at least 1 each, as near to these shares as largest remainders come.
std::vector<int> shared_out(int total, const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<int> whole;
  std::vector<std::pair<double, std::size_t>> rest;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = total * shares[i] / sum;
    whole.push_back(std::max(1, int(std::floor(exact))));
    rest.emplace_back(-(exact - whole.back()), i);
  }
  std::ranges::sort(rest);
  int left = total - std::accumulate(whole.begin(), whole.end(), 0);
  for (std::size_t i = 0; left > 0; i = (i + 1) % rest.size(), --left) ++whole[rest[i].second];
  while (left++ < 0) --*std::ranges::max_element(whole);
  return whole;
}

/// Whole nodes in `count` runs of nearly equal length, longer ones first.
std::vector<std::vector<NodeId>> runs_of(const std::vector<NodeId>& nodes, std::size_t count) {
  std::vector<std::vector<NodeId>> runs;
  auto at = nodes.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = std::ptrdiff_t(nodes.size() / count + (i < nodes.size() % count ? 1 : 0));
    runs.emplace_back(at, at + length);
    at += length;
  }
  return runs;
}

/// Cuts pipelines; layers are measured once.
class PipelineCutter {
 public:
  PipelineCutter(const PlanningContext& context, const PipelineShape& shape)
      : context_(context), shape_(shape), router_(context.cluster), costs_(context.cluster, context.workload, router_) {}

  std::optional<Plan> cut(const std::vector<std::vector<NodeId>>& runs) {
    const int micro_batches = int(context_.workload.global_batch) / shape_.sequences;
    if (micro_batches < int(runs.size())) return std::nullopt;
    std::vector<PipelineChoice> pipelines;
    std::vector<double> speeds;
    for (const std::vector<NodeId>& run : runs) {
      if (!add_pipeline(run, pipelines, speeds)) return std::nullopt;
    }
    const std::vector<int> shares = shared_out(micro_batches, speeds);
    for (std::size_t i = 0; i < pipelines.size(); ++i) {
      pipelines[i].micro_batches = shares[i];
      pipelines[i].batch = double(shares[i] * shape_.sequences);
    }
    Plan plan = plan_of(pipelines, 0);
    Settings redundant;
    redundant.redundant_forward = true;
    return shape_.redundant_forward ? with_settings(std::move(plan), redundant) : plan;
  }

 private:
  bool add_pipeline(const std::vector<NodeId>& run, std::vector<PipelineChoice>& pipelines, std::vector<double>& speeds) {
    const std::vector<TensorUnit> units = tensor_units(context_.cluster, run, shape_.tensor);
    if (units.empty() || units.size() > costs_.module().layers.size()) return false;
    std::vector<StageLoad> loads;
    for (std::size_t s = 0; s < units.size(); ++s) {
      loads.push_back(stage_load(costs_, {units[s].devices, double(shape_.sequences), shape_.recompute.kind}, {1, 0}, context_.workload));
      loads.back().in_flight = double(units.size() - s);
    }
    const std::optional<BalancedCut> cut = balance_layers(loads);
    if (!cut) return false;
    PipelineChoice pipeline;
    for (std::size_t s = 0; s < units.size(); ++s)
      pipeline.stages.push_back({cut->bounds[s], cut->bounds[s + 1], units[s].devices, shape_.tensor, shape_.recompute});
    pipelines.push_back(std::move(pipeline));
    speeds.push_back(1 / cut->slowest.value);
    return true;
  }

  const PlanningContext& context_;
  const PipelineShape& shape_;
  Router router_;
  LayerCosts costs_;
};

bool fits_outcome(const SimulationOutcome& outcome) {
  const auto* report = std::get_if<StepReport>(&outcome);
  return report != nullptr && report->memory.fits();
}

}  // namespace

std::optional<std::vector<Replica>> replicas_of(const Plan& plan) {
  std::vector<Replica> replicas;
  const Part& part = plan.phases.front().parts.front();
  for (const Pipeline& pipeline : part.pipelines) {
    const auto stage_at = [&](std::size_t s) -> const Stage& { return part.stages[index(pipeline.stages[s])]; };
    const int ranks = axis_size(layout_of(stage_at(0)), AxisKind::data);
    for (int rank = 0; rank < ranks; ++rank) {
      Replica replica{pipeline.batch / ranks, pipeline.micro_batches, {}};
      for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        if (!is_plain(stage_at(s)) || axis_size(layout_of(stage_at(s)), AxisKind::data) != ranks) return std::nullopt;
        replica.stages.push_back(of_rank(stage_at(s), rank, ranks));
      }
      replicas.push_back(std::move(replica));
    }
  }
  return replicas;
}

/// Longer replicas first, so that it does not matter which of them lost nodes.
std::vector<Replica> in_order(std::vector<Replica> replicas) {
  const auto layers = [](const Replica& replica) {
    std::vector<std::size_t> counts;
    for (const Stage& stage : replica.stages) counts.push_back(stage.chunks.front().size());
    return std::tuple(-std::ptrdiff_t(replica.stages.size()), counts);
  };
  std::ranges::stable_sort(replicas, {}, layers);
  return replicas;
}

Plan plan_of_replicas(const Plan& like, const std::vector<Replica>& unordered) {
  const std::vector<Replica> replicas = in_order(unordered);
  Plan plan = like;
  Part& part = plan.phases.front().parts.front();
  part.stages.clear();
  part.pipelines.clear();
  for (const Replica& replica : replicas) {
    Pipeline pipeline{replica.batch, {}, replica.micro_batches, {}};
    for (const Stage& stage : replica.stages) {
      pipeline.stages.push_back(id_at<StageId>(part.stages.size()));
      part.stages.push_back(stage);
    }
    part.pipelines.push_back(std::move(pipeline));
  }
  return plan;
}

PipelineShape shape_of(const Plan& plan, const Workload& workload) {
  const Part& part = plan.phases.front().parts.front();
  const Pipeline& pipeline = part.pipelines.front();
  const Stage& stage = part.stages[index(pipeline.stages.front())];
  const Settings settings = settings_of(stage, stage.chunks.front().front(), workload);
  PipelineShape shape;
  shape.tensor = axis_size(*settings.layout, AxisKind::tensor);
  const int ranks = int(stage.devices.size()) / shape.tensor;
  shape.sequences = std::max(1, int(std::lround(pipeline.batch / pipeline.micro_batches / ranks)));
  shape.recompute = *settings.recompute;
  return shape;
}

std::optional<Plan> pipelines_of(const PlanningContext& context, const PipelineShape& shape, const std::vector<std::vector<NodeId>>& runs) {
  return PipelineCutter(context, shape).cut(runs);
}

std::optional<Plan> best_pipelines(const PlanningContext& context, const PipelineShape& shape, int at_least) {
  const std::vector<NodeId> nodes = nodes_with_gpus(context.cluster);
  const Router router(context.cluster);
  PipelineCutter cutter(context, shape);
  Finalists finalists(context, router, kSimulated);
  for (std::size_t count = std::size_t(at_least); count <= nodes.size(); ++count) {
    auto plan = cutter.cut(runs_of(nodes, count));
    if (!plan || !plan->check(context.cluster, context.workload).empty()) continue;
    const Seconds estimate = estimate_step(*plan, context.cluster, context.workload, router).step_time;
    finalists.add(*std::move(plan), estimate);
  }
  PlanOrInfeasible best = finalists.choose("");
  auto* planned = std::get_if<Planned>(&best);
  return planned ? std::optional(std::move(planned->plan)) : std::nullopt;
}

bool fits(const PlanningContext& context, const Plan& plan) {
  if (!plan.check(context.cluster, context.workload).empty()) return false;
  return fits_outcome(context.simulator.simulate(std::span(&plan, 1)).front());
}

bool seems_to_fit(const PlanningContext& context, const Plan& plan) {
  if (!plan.check(context.cluster, context.workload).empty()) return false;
  return estimate_step(plan, context.cluster, context.workload, Router(context.cluster)).memory.fits();
}

Plan with_settings(Plan plan, const Settings& settings) {
  for (PlanPhase& phase : plan.phases)
    for (Part& part : phase.parts)
      for (Stage& stage : part.stages) stage.rules.push_back({{}, "", {}, settings});
  return plan;
}

}  // namespace trainyard
