// Simulation as the planner's cost model: uneven shares for uneven nodes, pruned before anything is simulated, planned again when the
// network changes.
// Paper: Rethinking Dynamic Networks and Heterogeneous Computing with Automatic Parallelization, APNet 2025, arXiv 2506.02787.
// Candidates: tensor x pipeline x data with layers by speed over all nodes, or a pipeline for each kind of node with samples by speed.
// Pruned by memory and by a bound (compute alone) that is worse than the best simulated so far.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/cost/memory.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/stage_chain.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

constexpr int kSimulate = 24, kRound = 4, kMostMicroBatch = 256, kSteps = 1000;
constexpr std::size_t kRejectedKept = 50;

struct Candidate {
  Plan plan;
  Seconds bound{};                       ///< compute alone
};

class Search {
 public:
  Search(const PlanningContext& context, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_), tools_{context, router_, costs_}, left_(simulate) {}

  PlanOrInfeasible search() {
    const std::vector<NodeId> nodes = nodes_with_gpus(context_.cluster);
    for (const int tensor : tensor_sizes(context_.cluster, nodes, context_.workload)) {
      const std::vector<TensorUnit> units = tensor_units(context_.cluster, nodes, tensor);
      for (int data = 1; data <= int(units.size()); ++data) even_samples(units, data);
      uneven_samples(nodes, tensor);
    }
    std::ranges::stable_sort(candidates_, {}, &Candidate::bound);
    evaluate();
    if (best_) return Planned{best_->plan, std::nullopt, std::move(rejected_), left_ == 0 && pruned_ + looked_ < candidates_.size(),
                              {fmt::format("{} candidates: {} simulated, {} pruned by memory, {} by the bound of compute alone", candidates_.size(), simulated_, unfit_, pruned_)}};
    if (nearest_miss_) return Infeasible{shortfall_text(*nearest_miss_), nearest_miss_, std::move(rejected_)};
    return Infeasible{"no layout divides the GPUs, the layers and the batch", std::nullopt, std::move(rejected_)};
  }
  [[nodiscard]] Seconds best_time() const { return best_time_; }

 private:
  /// One pipeline over all units; each replica's micro-batches are alike, layers go by speed.
  void even_samples(const std::vector<TensorUnit>& units, int data) {
    const std::vector<StageUnits> stages = stages_over({units}, data);
    const int batch = int(context_.workload.global_batch);
    if (batch % data != 0 || stages.empty() || int(stages.size()) > tools_.layers()) return;
    bool fits = true;
    for (int micro_batch = 1; fits && micro_batch <= kMostMicroBatch && batch / data % micro_batch == 0; micro_batch *= 2) {
      fits = false;
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::full})
        if (!fits) fits = add_chains({stages}, {{data * micro_batch, batch / data / micro_batch, recompute, tools_.default_zero()}});
    }
  }

  /// A pipeline for each kind of node; samples by the speed of its devices, in whole micro-batches.
  void uneven_samples(const std::vector<NodeId>& nodes, int tensor) {
    const auto kinds = nodes_by_kind(context_.cluster, nodes);
    if (kinds.size() < 2 || kinds.size() > 4) return;
    std::vector<std::vector<TensorUnit>> units;
    for (const auto& kind : kinds) units.push_back(tensor_units(context_.cluster, kind, tensor));
    for (int depth = 1; depth <= tools_.layers() && depth <= 16; ++depth) {
      std::vector<std::vector<StageUnits>> chains;
      for (const auto& of_kind : units)
        if (int(of_kind.size()) >= depth) chains.push_back(stages_over({of_kind}, int(of_kind.size()) / depth));
      if (chains.size() != kinds.size()) return;
      for (std::vector<StageUnits>& chain : chains) chain.resize(depth);
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::full})
        if (const auto shapes = shares(chains, recompute); !shapes.empty() && add_chains(chains, shapes)) break;
    }
  }

  /// Micro-batches of one sample a data rank, as many as each chain's share of the speed; nothing where they cannot add up.
  std::vector<ChainShape> shares(const std::vector<std::vector<StageUnits>>& chains, RecomputeKind recompute) {
    std::vector<double> speed;
    std::vector<ChainShape> shapes;
    for (const std::vector<StageUnits>& chain : chains) {
      const int data = int(chain[0].size());
      shapes.push_back({data, 1, recompute, tools_.default_zero()});
      double rate = 0;
      for (const LayerCost& layer : costs_.of({chain[0][0].devices, 1, recompute})) rate += (layer.forward + layer.backward).value;
      speed.push_back(data * double(chain.size()) / rate);
    }
    const double sum = std::accumulate(speed.begin(), speed.end(), 0.0);
    int left = int(context_.workload.global_batch);
    for (std::size_t c = 0; c + 1 < chains.size(); ++c) {
      shapes[c].micro_batches = std::max(1, int(std::lround(context_.workload.global_batch * speed[c] / sum / shapes[c].micro_batch)));
      left -= shapes[c].micro_batch * shapes[c].micro_batches;
    }
    // The last takes what is left; a few micro-batches fewer for the first make it whole.
    for (int tries = 0; tries < shapes.back().micro_batch && shapes[0].micro_batches > 1 && (left <= 0 || left % shapes.back().micro_batch != 0); ++tries) {
      --shapes[0].micro_batches;
      left += shapes[0].micro_batch;
    }
    if (left <= 0 || left % shapes.back().micro_batch != 0) return {};
    shapes.back().micro_batches = left / shapes.back().micro_batch;
    return shapes;
  }

  bool add_chains(const std::vector<std::vector<StageUnits>>& chains, const std::vector<ChainShape>& shapes) {
    std::vector<PipelineChoice> pipelines;
    Seconds bound{};
    for (std::size_t c = 0; c < chains.size(); ++c) {
      std::vector<StageLoad> loads = chain_loads(tools_, chains[c], shapes[c]);
      for (StageLoad& load : loads) load.transfer = Seconds(0);
      const auto cut = balance_layers(loads);
      if (!cut) return false;
      bound = std::max(bound, cut->step(shapes[c].micro_batches));
      pipelines.push_back(chain_choice(chains[c], cut->bounds, shapes[c]));
    }
    candidates_.push_back({plan_of(pipelines, shapes[0].zero), bound});
    return true;
  }

  /// Best bounds first, a few at a time, until a bound says that nothing better can come or no simulation is left.
  void evaluate() {
    while (left_ > 0 && looked_ < candidates_.size()) {
      std::vector<Plan> plans;
      for (; looked_ < candidates_.size() && int(plans.size()) < std::min(kRound, left_); ++looked_) {
        const Candidate& candidate = candidates_[looked_];
        if (best_ && candidate.bound >= best_time_) {
          pruned_ = candidates_.size() - looked_;
          looked_ = candidates_.size();
          break;
        }
        if (passes(candidate.plan)) plans.push_back(candidate.plan);
      }
      left_ -= int(plans.size());
      simulate(plans);
    }
  }

  bool passes(const Plan& plan) {
    if (auto wrong = plan.check(context_.cluster, context_.workload); !wrong.empty()) {
      reject(plan, std::move(wrong.front()));
      return false;
    }
    const MemoryReport memory = estimate_step(plan, context_.cluster, context_.workload, router_).memory;
    if (memory.fits()) return true;
    miss(plan, memory);
    return false;
  }

  void simulate(const std::vector<Plan>& plans) {
    const std::vector<SimulationOutcome> outcomes = context_.simulator.simulate(plans);
    simulated_ += int(plans.size());
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const auto* report = std::get_if<StepReport>(&outcomes[i]);
      if (!report) {
        reject(plans[i], std::get<SimulationError>(outcomes[i]).why);
      } else if (!report->memory.fits()) {
        miss(plans[i], report->memory);
      } else if (best_ && report->step_time >= best_time_) {
        reject(plans[i], "slower: " + to_text(report->step_time));
      } else {
        if (best_) reject(best_->plan, "slower: " + to_text(best_time_));
        best_ = Candidate{plans[i], {}};
        best_time_ = report->step_time;
      }
    }
  }

  void miss(const Plan& plan, const MemoryReport& memory) {
    ++unfit_;
    if (!nearest_miss_ || memory.missing() < nearest_miss_->missing()) nearest_miss_ = memory;
    reject(plan, shortfall_text(memory));
  }

  void reject(const Plan& plan, std::string why) {
    if (rejected_.size() < kRejectedKept) rejected_.push_back({one_line(plan, context_.cluster, context_.workload), std::move(why)});
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  ChainTools tools_;
  std::vector<Candidate> candidates_;
  std::optional<Candidate> best_;
  Seconds best_time_{};
  std::vector<Rejected> rejected_;
  std::optional<MemoryReport> nearest_miss_;
  int left_ = 0, simulated_ = 0, unfit_ = 0;
  std::size_t looked_ = 0, pruned_ = 0;
};

class Rethinking final : public Strategy {
 public:
  explicit Rethinking(const StrategyOptions& options)
      : simulate_(int(options.values["simulate"].integer_or(kSimulate))), steps_(double(options.values["steps"].integer_or(kSteps))) {}

  PlanOrInfeasible plan(const PlanningContext& context) override { return Search(context, simulate_).search(); }

  /// Where only the network changed, the running Plan is simulated on it too, and kept unless the new one gains more over the next
  /// steps than moving every state once over the slowest of the GPUs' ways costs.
  Reaction react(const ClusterChange& change, const JobState& state) override {
    Search search(state.now, simulate_);
    PlanOrInfeasible fresh = search.search();
    if (!change.lost.empty() || !change.joined.empty()) return {std::move(fresh)};
    const auto* planned = std::get_if<Planned>(&fresh);
    const SimulationOutcome outcome = std::move(state.now.simulator.simulate(std::span(&state.running, 1)).front());
    const auto* running = std::get_if<StepReport>(&outcome);
    if (!running) return {std::move(fresh)};
    if (planned && (running->step_time - search.best_time()) * steps_ > switching_time(state)) return {std::move(fresh)};
    return {Planned{state.running, std::nullopt, {}, false, {"the running Plan stays: a switch costs more than it gains"}}};
  }

 private:
  static Seconds switching_time(const JobState& state) {
    const Workload& workload = state.now.workload;
    const Module& module = workload.modules[index(workload.passes.front().module)];
    std::vector<LayerId> layers;
    for (std::size_t i = 0; i < module.layers.size(); ++i) layers.push_back(id_at<LayerId>(i));
    const Bytes states = static_memory(module, layers, {}, workload, 1, 0).total();
    const Router router(state.now.cluster);
    const std::vector<DeviceId> gpus = state.now.cluster.gpus();
    Seconds slowest{};
    for (std::size_t i = 1; i < gpus.size(); ++i)
      slowest = std::max(slowest, transfer_time(router, state.now.cluster, gpus[i - 1], gpus[i], states / double(gpus.size())));
    return slowest;
  }

  int simulate_ = kSimulate;
  double steps_ = kSteps;
};

const StrategyRegistrar registrar({
    .name = "rethinking",
    .summary = "uneven layers or samples for uneven nodes, chosen by simulation after pruning; planned again when the network changes",
    .paper = "Rethinking Dynamic Networks and Heterogeneous Computing with Automatic Parallelization, APNet 2025, arXiv 2506.02787",
    .options = schema::object({schema::optional("simulate", schema::integer(between(1, 10000), "candidates that are simulated at most"), std::to_string(kSimulate)),
                               schema::optional("steps", schema::integer(between(1, 1e9), "that a new Plan must pay for its switch in"), std::to_string(kSteps))},
                              "options of rethinking"),
    .simplified = {"a network that changes is seen as it is at the time of planning"},
    .reconstructed = {"candidates (layers or samples in proportion to speed), the pruning rules and the cost of a switch: only the abstract could be read"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Rethinking>(options); },
});

}  // namespace
}  // namespace trainyard
