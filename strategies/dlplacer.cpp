// DLPlacer and hybrid parallelism: every data-parallel worker is M neighbouring GPUs of one node over which an integer program places the
// layers; M is chosen by the time to accuracy, in which a larger batch needs more epochs.
// Paper: Pal et al., Optimizing Multi-GPU Parallelization Strategies for Deep Learning Training, IEEE Micro 39(5) 2019, arXiv 1907.13257.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "sim/planning/budget.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/integer_program.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/stage_chain.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 3000;
constexpr int kSimulate = 8, kNodesPerProgram = 20, kMostBinaries = 160, kMostGpusOfWorker = 8, kMostMicroBatches = 64;
/// Costs of a program are counted in the whole model's time, which is 1.
constexpr double kNever = 1e6;

/// N workers of M GPUs.
struct Grid {
  std::vector<StageUnits> stages;        ///< [place in the worker][worker]
  int workers = 1, gpus = 1;
};

/// Steps to the target at a batch: multiplier · steps · (1 + critical batch / batch).
double steps_to_target(const Convergence& convergence, double batch) {
  return convergence.multiplier * convergence.steps * (1 + convergence.critical_batch / batch);
}

class DlPlacerSearch {
 public:
  DlPlacerSearch(const PlanningContext& context, Budget budget, int simulate, std::optional<int> worker_batch)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_), tools_{context, router_, costs_},
        finalists_(context, router_, simulate), budget_(budget), worker_batch_(worker_batch) {}

  PlanOrInfeasible search() {
    const bool by_accuracy = worker_batch_ && !context_.workload.convergence.empty();
    for (int gpus = 1; gpus <= std::min(kMostGpusOfWorker, tools_.layers()); gpus *= 2)
      if (const Grid grid = grid_of(gpus); grid.workers > 0) consider(grid);
    if (by_accuracy) keep_best_by_accuracy();
    for (auto& [gpus, found] : found_)
      for (Found& one : found) finalists_.add(std::move(one.plan), one.time);
    PlanOrInfeasible answer = finalists_.choose("no number of workers divides the batch and holds the model", budget_.ran_out());
    if (auto* planned = std::get_if<Planned>(&answer)) planned->remarks = remarks_;
    return answer;
  }

 private:
  struct Found {
    Plan plan;
    Seconds time{};
  };

  /// Workers of `gpus` neighbours on every node; as many as divide the batch.
  Grid grid_of(int gpus) const {
    const std::vector<NodeId> nodes = nodes_with_gpus(context_.cluster);
    const std::vector<TensorUnit> units = tensor_units(context_.cluster, nodes, gpus);
    Grid grid{{}, int(units.size()), gpus};
    while (grid.workers > 0 && std::fmod(context_.workload.global_batch, grid.workers) != 0) --grid.workers;
    for (int place = 0; place < gpus; ++place) {
      grid.stages.emplace_back();
      for (int worker = 0; worker < grid.workers; ++worker) {
        TensorUnit unit = units[std::size_t(worker)];
        unit.devices = {unit.devices[std::size_t(place)]};
        grid.stages.back().push_back(std::move(unit));
      }
    }
    return grid;
  }

  void consider(const Grid& grid) {
    const int samples = int(context_.workload.global_batch) / grid.workers;
    for (int micro_batches = 1; micro_batches <= std::min(samples, kMostMicroBatches); micro_batches *= 2)
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::full}) {
        if (samples % micro_batches != 0) continue;
        const ChainShape shape{samples / micro_batches * grid.workers, micro_batches, recompute, tools_.default_zero()};
        if (!budget_.take()) return;
        const std::vector<StageLoad> loads = chain_loads(tools_, grid.stages, shape);
        const auto cut = place_layers(loads, micro_batches);
        if (!cut) continue;
        const Seconds time = cut->step(micro_batches) + exposed_exchange(tools_, grid.stages, loads, cut->bounds, shape);
        found_[grid.gpus].push_back({plan_of({chain_choice(grid.stages, cut->bounds, shape)}, shape.zero), time});
        workers_[grid.gpus] = grid.workers;
      }
  }

  /// The integer program where its size allows, else dynamic programming, which is exact for a chain too.
  std::optional<BalancedCut> place_layers(const std::vector<StageLoad>& loads, int micro_batches) {
    const auto balanced = balance_layers(loads);
    if (!balanced || loads.size() < 2 || int(loads.size()) * tools_.layers() > kMostBinaries || !budget_.take(kNodesPerProgram)) return balanced;
    const auto placed = solve(loads, *balanced, micro_batches);
    return placed && placed->step(micro_batches) < balanced->step(micro_batches) ? placed : balanced;
  }

  /// z says which GPU has which layer, in the chain's order:
  ///   min (K - 1) T + sum of times,  T >= each GPU's time with its transfer,  states + in-flight · kept <= memory.
  std::optional<BalancedCut> solve(const std::vector<StageLoad>& loads, const BalancedCut& start, int micro_batches) const {
    const int layers = tools_.layers(), stages = int(loads.size());
    const Seconds unit = start.sum;
    IntegerProgram program;
    const VariableId slowest = program.add_continuous(0, kNever, micro_batches - 1);
    std::vector<std::vector<VariableId>> on{std::size_t(layers)};
    for (int l = 0; l < layers; ++l) {
      LinearSum one;
      for (int s = 0; s < stages; ++s) {
        on[l].push_back(program.add_binary(loads[s].time[l] / unit));
        program.start_at(on[l][s], start.bounds[s] <= l && l < start.bounds[s + 1]);
        one.push_back({on[l][s], 1});
      }
      program.equal(one, 1);
      LinearSum forward;
      for (int s = 0; s < stages && l > 0; ++s) forward.insert(forward.end(), {{on[l][s], double(s)}, {on[l - 1][s], -double(s)}});
      if (l > 0) program.at_least(forward, 0);
    }
    for (int s = 0; s < stages; ++s) limit_stage(program, loads[s], on, s, slowest, unit);
    const auto solution = program.minimise(kNodesPerProgram);
    if (!solution) return std::nullopt;
    BalancedCut cut;
    cut.bounds.push_back(0);
    for (int s = 0; s < stages; ++s) {
      int count = 0;
      for (int l = 0; l < layers; ++l) count += solution->whole(on[l][s]);
      cut.bounds.push_back(cut.bounds.back() + count);
      const Seconds time = stage_time(loads[s], cut.bounds[s], cut.bounds[s + 1]);
      cut.slowest = std::max(cut.slowest, time);
      cut.sum += time;
      if (!stage_fits(loads[s], cut.bounds[s], cut.bounds[s + 1])) return std::nullopt;
    }
    return cut;
  }

  static void limit_stage(IntegerProgram& program, const StageLoad& load, const std::vector<std::vector<VariableId>>& on, int s, VariableId slowest,
                          Seconds unit) {
    LinearSum some, time{{slowest, 1}}, memory;
    const Bytes usable = load.usable - *std::ranges::max_element(load.transient);
    for (std::size_t l = 0; l < on.size(); ++l) {
      some.push_back({on[l][s], 1});
      time.push_back({on[l][s], -(load.time[l] / unit)});
      memory.push_back({on[l][s], (load.states[l] + load.kept[l] * load.in_flight) / load.usable});
    }
    program.at_least(some, 1);
    program.at_least(time, load.transfer / unit);
    program.at_most(memory, usable / load.usable);
  }

  // Time to accuracy.

  /// Every worker keeps its batch, so that more of them make a larger one; the steps to the target follow from it.
  void keep_best_by_accuracy() {
    const Convergence& convergence = context_.workload.convergence.front();
    std::optional<int> best;
    double best_time = 0, alone = 0;
    for (const auto& [gpus, found] : found_) {
      const auto fastest = std::ranges::min_element(found, {}, &Found::time);
      const double batch = double(workers_.at(gpus)) * *worker_batch_;
      const double per_sample = fastest->time.value / context_.workload.global_batch;
      const double time = per_sample * batch * steps_to_target(convergence, batch);
      remarks_.push_back(fmt::format("{} workers of {} GPU{}: batch {:.0f}, {:.0f} steps, {:.2f} h to the target by its own model", workers_.at(gpus), gpus,
                                     gpus > 1 ? "s" : "", batch, steps_to_target(convergence, batch), time / 3600));
      if (gpus == 1) alone = time;
      if (!best || time < best_time) best = gpus, best_time = time;
    }
    if (!best) return;
    if (alone > 0) remarks_.push_back(fmt::format("to the target {:.1f} % faster than with data parallelism alone", 100 * (alone / best_time - 1)));
    std::erase_if(found_, [&](const auto& entry) { return entry.first != *best; });
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  ChainTools tools_;
  Finalists finalists_;
  Budget budget_;
  std::optional<int> worker_batch_;
  std::map<int, std::vector<Found>> found_;   ///< [GPUs of a worker]
  std::map<int, int> workers_;                ///< [GPUs of a worker]
  std::vector<std::string> remarks_;
};

class DlPlacer final : public Strategy {
 public:
  explicit DlPlacer(const StrategyOptions& options) : budget_(budget_of(options.values, kBudget)), simulate_(simulate_of(options.values, kSimulate)) {
    if (const View batch = options.values["worker_batch"]) worker_batch_ = int(batch.integer_or(1));
  }
  PlanOrInfeasible plan(const PlanningContext& context) override { return DlPlacerSearch(context, budget_, simulate_, worker_batch_).search(); }

 private:
  Budget budget_;
  int simulate_;
  std::optional<int> worker_batch_;
};

const StrategyRegistrar registrar({
    .name = "dlplacer",
    .summary = "data-parallel workers of one or more GPUs, layers placed by an integer program, by step time or time to accuracy",
    .paper = "Pal et al., Optimizing Multi-GPU Parallelization Strategies for Deep Learning Training, IEEE Micro 39(5) 2019, arXiv 1907.13257",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate),
                               schema::optional("worker_batch",
                                                schema::integer(between(1, 1e6), "samples a worker and step: workers are then chosen by the time to accuracy at the "
                                                                                 "batch that they make together (needs workload.convergence)"),
                                                "by step time at the global batch")},
                              "options of dlplacer"),
    .simplified = {"operators are whole layers, in a chain, so that a placement is a cut of it; micro-batches pass it one behind another",
                   "links between the GPUs of a worker are not shared with others in the program"},
    .reconstructed = {"epochs to accuracy by the critical-batch model of the workload instead of measured curves",
                      "the step at another batch takes the time a sample of the scenario's batch; the Plan itself has the scenario's batch"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<DlPlacer>(options); },
});

}  // namespace
}  // namespace trainyard
