// AutoHet: pipelines of different depth and make, one tensor size everywhere, gradients exchanged layer by layer.
// Paper: AutoHet, Automated 3D Parallelism for Heterogeneous Spot Instance GPUs, arXiv 2512.20953.
// Stage 1 shares tensor groups ("units") among pipelines so that the weakest has the most effective power (an integer program); stage
// 2 orders the units of each pipeline into stages (an integer program) and cuts the layers. A preemption means planning again.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "sim/planning/budget.hpp"
#include "sim/planning/device_groups.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/integer_program.hpp"
#include "sim/planning/layer_balance.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/searched_strategy.hpp"
#include "sim/planning/stage_chain.hpp"

namespace trainyard {
namespace {

constexpr int kNodesPerProgram = 50;     ///< of the tree; counts as so many evaluations of the budget
constexpr int kMostGroupsInProgram = 8, kMostStagesInProgram = 8, kMostGroupingRounds = 4, kSimulate = 8, kMostMicroBatch = 256;
/// A grouping whose effective power alone takes so many times the best estimate is not laid out.
constexpr double kHopeless = 1.5;
constexpr std::int64_t kBudget = 3000;

/// Units that work equally fast.
struct Kind {
  std::vector<TensorUnit> units;
  Seconds pass{};                        ///< all layers, forward and backward, one micro-batch
  Bytes usable{};                        ///< of one device
  [[nodiscard]] int count() const { return int(units.size()); }
};

/// How many units of each kind a pipeline has.
using Composition = std::vector<int>;
using Order = std::vector<int>;          ///< kind of each stage

struct Shape {
  int tensor = 1, groups = 1, micro_batch = 1, micro_batches = 1;
  RecomputeKind recompute = RecomputeKind::none;
};

/// Pipelines of one composition: their units, stage by stage, and what each stage takes.
struct PipelineClass {
  std::vector<StageUnits> stages;        ///< [stage][pipeline]
  std::vector<StageLoad> loads;
  BalancedCut cut;
};

int total(const Composition& composition) { return std::accumulate(composition.begin(), composition.end(), 0); }

class AutoHetSearch {
 public:
  AutoHetSearch(const PlanningContext& context, Budget budget, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_),
        tools_{context, router_, costs_}, finalists_(context, router_, simulate), budget_(budget) {}

  PlanOrInfeasible search() {
    const std::vector<NodeId> nodes = nodes_with_gpus(context_.cluster);
    const std::vector<int> sizes = tensor_sizes(context_.cluster, nodes, context_.workload);
    for (auto tensor = sizes.rbegin(); tensor != sizes.rend(); ++tensor) {
      read_kinds(nodes, *tensor);
      for (int groups = 1; groups <= units_ && groups <= context_.workload.global_batch; ++groups)
        if (std::fmod(context_.workload.global_batch, groups) == 0) consider(*tensor, groups);
    }
    return finalists_.choose("no grouping of the GPUs holds the model and divides the batch", budget_.ran_out());
  }

 private:
  int layers() const { return int(costs_.module().layers.size()); }
  int zero() const { return tools_.default_zero(); }

  LayerQuestion question(const TensorUnit& unit, const Shape& shape) const {
    return {unit.devices, double(shape.micro_batch), shape.recompute};
  }

  void read_kinds(const std::vector<NodeId>& nodes, int tensor) {
    std::map<int, Kind> by_kind;
    for (TensorUnit& unit : tensor_units(context_.cluster, nodes, tensor)) by_kind[unit.kind].units.push_back(std::move(unit));
    kinds_.clear();
    units_ = 0;
    for (auto& [id, kind] : by_kind) {
      for (const LayerCost& layer : costs_.of({kind.units[0].devices, 1, RecomputeKind::none})) kind.pass += layer.forward + layer.backward;
      kind.usable = costs_.usable_memory(kind.units[0].devices[0], tensor);
      units_ += kind.count();
      kinds_.push_back(std::move(kind));
    }
  }

  void consider(int tensor, int groups) {
    const int samples = int(context_.workload.global_batch) / groups;
    const std::vector<Composition> pipelines = share_units(groups, samples);
    if (pipelines.empty()) return;
    const auto best = finalists_.best_estimate();
    if (best && Seconds(samples / weakest(pipelines, samples)) > *best * kHopeless) return;
    bool fits = true;
    for (int micro_batch = 1; fits && micro_batch <= std::min(samples, kMostMicroBatch) && samples % micro_batch == 0; micro_batch *= 2) {
      fits = false;
      for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full})
        fits = lay_out(pipelines, {tensor, groups, micro_batch, samples / micro_batch, recompute}) || fits;
    }
  }

  // Stage 1: device grouping.

  /// (1 - bubble) · power of a pipeline, in micro-batches per second of the whole model.
  double effective_power(const Composition& pipeline, int micro_batches) const {
    double power = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) power += pipeline[k] / kinds_[k].pass.value;
    return power * micro_batches / (micro_batches + total(pipeline) - 1);
  }

  double weakest(const std::vector<Composition>& pipelines, int micro_batches) const {
    double least = effective_power(pipelines[0], micro_batches);
    for (const Composition& pipeline : pipelines) least = std::min(least, effective_power(pipeline, micro_batches));
    return least;
  }

  /// Bytes that a device of each tensor rank must find in a pipeline: the model's states and one micro-batch.
  Bytes needed_memory(int groups) {
    Bytes sum{};
    const StageLoad load = stage_load(costs_, {kinds_[0].units[0].devices, 1, RecomputeKind::full}, {groups, zero()}, context_.workload);
    for (int l = 0; l < layers(); ++l) sum += load.states[l] + load.kept[l];
    return sum;
  }

  bool holds_model(const Composition& pipeline, Bytes needed) const {
    Bytes usable{};
    for (std::size_t k = 0; k < kinds_.size(); ++k) usable += kinds_[k].usable * double(pipeline[k]);
    return total(pipeline) >= 1 && usable >= needed;
  }

  /// The strongest units first, each to the weakest pipeline that has room for a stage.
  std::vector<Composition> share_greedily(int groups) const {
    std::vector<Composition> pipelines(groups, Composition(kinds_.size(), 0));
    std::vector<double> power(groups, 0);
    std::vector<int> by_speed(kinds_.size());
    std::iota(by_speed.begin(), by_speed.end(), 0);
    std::ranges::stable_sort(by_speed, {}, [&](int k) { return kinds_[k].pass; });
    for (const int k : by_speed)
      for (int unit = 0; unit < kinds_[k].count(); ++unit) {
        const auto weakest = std::ranges::min_element(power);
        Composition& pipeline = pipelines[weakest - power.begin()];
        if (total(pipeline) >= layers()) return pipelines;
        ++pipeline[k];
        *weakest += 1 / kinds_[k].pass.value;
      }
    return pipelines;
  }

  /// Improves by Dinkelbach's method: for the level e reached so far, the program asks for pipelines whose K · power - e (K + S - 1) is
  /// above zero for all; E_j = K P_j / (K + S_j - 1) is linear in the counts once e is given.
  std::vector<Composition> share_units(int groups, int micro_batches) {
    std::vector<Composition> best = share_greedily(groups);
    const Bytes needed = needed_memory(groups);
    const auto holds = [&](const Composition& pipeline) { return holds_model(pipeline, needed); };
    const bool one_way = kinds_.size() == 1 || groups > kMostGroupsInProgram;
    double level = std::ranges::all_of(best, holds) ? weakest(best, micro_batches) : 0;
    for (int round = 0; round < kMostGroupingRounds && !one_way && budget_.take(kNodesPerProgram); ++round) {
      const auto shared = solve_sharing(groups, micro_batches, level, needed);
      if (!shared || weakest(*shared, micro_batches) <= level * (1 + 1e-9)) break;
      best = *shared;
      level = weakest(best, micro_batches);
    }
    return std::ranges::all_of(best, holds) ? best : std::vector<Composition>{};
  }

  std::optional<std::vector<Composition>> solve_sharing(int groups, int micro_batches, double level, Bytes needed) const {
    IntegerProgram program;
    const double scale = kinds_[0].pass.value;
    const VariableId margin = program.add_continuous(0, 1e9, -1);
    std::vector<std::vector<VariableId>> count(groups);
    for (int j = 0; j < groups; ++j) {
      LinearSum stages, memory, power{{margin, -1}}, smaller;
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        count[j].push_back(program.add_integer(0, kinds_[k].count()));
        stages.push_back({count[j][k], 1});
        memory.push_back({count[j][k], kinds_[k].usable / needed});
        power.push_back({count[j][k], scale * (micro_batches / kinds_[k].pass.value - level)});
        // Pipelines are alike, so only one of their orders is searched.
        if (j > 0) smaller.push_back({count[j - 1][k], double(k + 1)}), smaller.push_back({count[j][k], -double(k + 1)});
      }
      program.at_least(stages, 1);
      program.at_most(stages, layers());
      program.at_least(memory, 1);
      program.at_least(power, scale * level * (micro_batches - 1));
      if (j > 0) program.at_least(smaller, 0);
    }
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      LinearSum used;
      for (int j = 0; j < groups; ++j) used.push_back({count[j][k], 1});
      program.at_most(used, kinds_[k].count());
    }
    const auto solution = program.minimise(kNodesPerProgram);
    if (!solution) return std::nullopt;
    std::vector<Composition> pipelines(groups);
    for (int j = 0; j < groups; ++j)
      for (const VariableId variable : count[j]) pipelines[j].push_back(solution->whole(variable));
    return pipelines;
  }

  // Stage 2: units to stages, layers to stages.

  /// Whether it fits. Units stand pipeline by pipeline, so that transfers are short, or stage by stage, so that exchanges of gradients are.
  bool lay_out(const std::vector<Composition>& pipelines, const Shape& shape) {
    const bool by_pipeline = lay_out(pipelines, shape, false);
    const bool one_way = pipelines.size() == 1 || std::ranges::all_of(pipelines, [](const Composition& c) { return total(c) == 1; });
    return (!one_way && lay_out(pipelines, shape, true)) || by_pipeline;
  }

  bool lay_out(const std::vector<Composition>& pipelines, const Shape& shape, bool by_stage) {
    std::map<Composition, int> counts;
    for (const Composition& pipeline : pipelines) ++counts[pipeline];
    std::vector<int> taken(kinds_.size(), 0);
    std::vector<PipelineClass> classes;
    for (const auto& [composition, count] : counts) {
      auto chosen = best_class(composition, count, taken, shape, by_stage);
      if (!chosen) return false;
      classes.push_back(std::move(*chosen));
      for (std::size_t k = 0; k < kinds_.size(); ++k) taken[k] += composition[k] * count;
    }
    finalists_.add(plan_from(classes, shape), iteration_time(classes, shape));
    return true;
  }

  std::optional<PipelineClass> best_class(const Composition& composition, int count, const std::vector<int>& taken, const Shape& shape, bool by_stage) {
    std::optional<PipelineClass> best;
    for (const Order& order : orders(composition, shape)) {
      if (!budget_.take()) break;
      PipelineClass candidate = with_units(order, count, taken, shape, by_stage);
      const auto cut = balance_layers(candidate.loads);
      if (!cut) continue;
      candidate.cut = *cut;
      if (!best || cut->step(shape.micro_batches) < best->cut.step(shape.micro_batches)) best = std::move(candidate);
    }
    return best;
  }

  /// Kinds one after the other, in every order of the kinds, and what the integer program finds.
  std::set<Order> orders(const Composition& composition, const Shape& shape) {
    std::vector<int> kinds;
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (composition[k] > 0) kinds.push_back(int(k));
    std::set<Order> all;
    const bool mixed = kinds.size() > 1;
    do {
      Order order;
      for (const int kind : kinds) order.insert(order.end(), composition[kind], kind);
      all.insert(order);
    } while (kinds.size() <= 4 && std::ranges::next_permutation(kinds).found);
    if (!mixed || total(composition) > kMostStagesInProgram) return all;
    const auto [known, is_new] = mapped_.try_emplace({composition, shape.tensor, shape.groups, shape.recompute});
    if (is_new && budget_.take(kNodesPerProgram)) known->second = solve_mapping(composition, shape);
    if (!known->second.empty()) all.insert(known->second);
    return all;
  }

  /// One mean layer's time and memory on each kind; z says which kind a stage has, l how many layers it takes:
  ///   min (K - 1) T + sum of stages' times,  T >= each stage's time,  l (states + in-flight · kept) <= memory.
  Order solve_mapping(const Composition& composition, const Shape& shape) {
    const int stages = total(composition);
    IntegerProgram program;
    std::vector<StageLoad> loads;
    for (const Kind& kind : kinds_) loads.push_back(stage_load(costs_, question(kind.units[0], shape), {shape.groups, zero()}, context_.workload));
    const double scale = kinds_[0].pass.value;
    const VariableId slowest = program.add_continuous(0, 1e6, shape.micro_batches - 1);
    std::vector<std::vector<VariableId>> is(stages);
    std::vector<LinearSum> of_kind(kinds_.size());
    LinearSum all_layers;
    for (int s = 0; s < stages; ++s) {
      LinearSum one, time{{slowest, -1}}, some;
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const double layer_time = stage_time(loads[k], 0, layers()).value / layers() / scale;
        is[s].push_back(program.add_binary());
        const VariableId count = program.add_integer(0, layers(), layer_time);
        one.push_back({is[s][k], 1});
        of_kind[k].push_back({is[s][k], 1});
        time.push_back({count, layer_time});
        some.push_back({count, 1});
        all_layers.push_back({count, 1});
        const double per_layer = bytes_per_layer(loads[k], std::min(shape.micro_batches, stages - s)) / kinds_[k].usable;
        program.at_most({{count, per_layer}, {is[s][k], -1}}, 0);
      }
      program.equal(one, 1);
      program.at_most(time, 0);
      program.at_least(some, 1);
    }
    for (std::size_t k = 0; k < kinds_.size(); ++k) program.equal(of_kind[k], composition[k]);
    program.equal(all_layers, layers());
    const auto solution = program.minimise(kNodesPerProgram);
    Order order;
    for (int s = 0; solution && s < stages; ++s)
      for (std::size_t k = 0; k < kinds_.size(); ++k)
        if (solution->whole(is[s][k]) == 1) order.push_back(int(k));
    return order;
  }

  Bytes bytes_per_layer(const StageLoad& load, int in_flight) const {
    Bytes sum{};
    for (int l = 0; l < layers(); ++l) sum += load.states[l] + load.kept[l] * double(in_flight);
    return sum / double(layers());
  }

  ChainShape chain_shape(const Shape& shape, int replicas) const {
    return {replicas * shape.micro_batch, shape.micro_batches, shape.recompute, zero(), shape.groups};
  }

  /// The next units of each kind: those of a pipeline, or those of a stage, stand in one node where they can.
  PipelineClass with_units(const Order& order, int count, std::vector<int> taken, const Shape& shape, bool by_stage) {
    PipelineClass result;
    result.stages.resize(order.size());
    const auto take = [&](std::size_t s) { result.stages[s].push_back(kinds_[order[s]].units[taken[order[s]]++]); };
    for (int p = 0; !by_stage && p < count; ++p)
      for (std::size_t s = 0; s < order.size(); ++s) take(s);
    for (std::size_t s = 0; by_stage && s < order.size(); ++s)
      for (int p = 0; p < count; ++p) take(s);
    result.loads = chain_loads(tools_, result.stages, chain_shape(shape, count));
    return result;
  }

  Plan plan_from(const std::vector<PipelineClass>& classes, const Shape& shape) const {
    std::vector<PipelineChoice> pipelines;
    for (const PipelineClass& c : classes) pipelines.push_back(chain_choice(c.stages, c.cut.bounds, chain_shape(shape, int(c.stages[0].size()))));
    return plan_of(pipelines, zero());
  }

  /// max over pipelines of sum + (K - 1) · slowest, and the exchange of gradients that backward passes do not hide.
  Seconds iteration_time(const std::vector<PipelineClass>& classes, const Shape& shape) {
    Seconds slowest{};
    for (const PipelineClass& c : classes) slowest = std::max(slowest, c.cut.step(shape.micro_batches));
    return slowest + exposed_exchange(classes, shape);
  }

  /// Layer by layer, over all devices of equal tensor rank that hold it.
  Seconds exposed_exchange(const std::vector<PipelineClass>& classes, const Shape& shape) {
    if (shape.groups < 2) return Seconds(0);
    std::map<std::vector<DeviceId>, RingGroup> rings;
    std::vector<Seconds> exchange;
    const std::vector<LayerCost>& costs = costs_.of(question(kinds_[0].units[0], shape));
    for (int l = 0; l < layers(); ++l) {
      const std::vector<DeviceId> members = holders(classes, l);
      const auto known = rings.try_emplace(members).first;
      if (known->second.shape.ring_rate.value == 0) known->second = ring_group(router_, context_.cluster, members);
      exchange.push_back(collective_time(known->second, CollectiveKind::all_reduce, costs[l].gradients));
    }
    Seconds worst{};
    for (const PipelineClass& c : classes)
      for (int s = 0; s < int(c.stages.size()); ++s) worst = std::max(worst, exposed_of(c, s, exchange));
    return worst;
  }

  Seconds exposed_of(const PipelineClass& c, int stage, const std::vector<Seconds>& exchange) const {
    const int first = c.cut.bounds[stage], last = c.cut.bounds[stage + 1];
    const Seconds sum = std::accumulate(exchange.begin() + first, exchange.begin() + last, Seconds(0));
    if (!context_.workload.software.overlap_gradient_reduce) return sum;
    const double hidden = double(last - first - 1) / double(last - first);
    const Seconds backward = stage_time(c.loads[stage], first, last) * (2.0 / 3);
    return std::max(sum - backward * hidden, sum * (1 - hidden));
  }

  static std::vector<DeviceId> holders(const std::vector<PipelineClass>& classes, int layer) {
    std::vector<DeviceId> members;
    for (const PipelineClass& c : classes) {
      const auto stage = std::ranges::upper_bound(c.cut.bounds, layer) - c.cut.bounds.begin() - 1;
      for (const TensorUnit& unit : c.stages[stage]) members.push_back(unit.devices[0]);
    }
    return members;
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  ChainTools tools_;
  Finalists finalists_;
  Budget budget_;
  std::vector<Kind> kinds_;              ///< for the tensor size at hand
  int units_ = 0;
  std::map<std::tuple<Composition, int, int, RecomputeKind>, Order> mapped_;
};

const StrategyRegistrar registrar({
    .name = "autohet",
    .summary = "pipelines of unequal depth over unequal GPUs, one tensor size, gradients exchanged layer by layer",
    .paper = "AutoHet: Automated 3D Parallelism for Heterogeneous Spot Instance GPUs, arXiv 2512.20953",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of autohet"),
    .simplified = {"CBC instead of SCIP, with 50 nodes a program; above 8 pipelines, or 8 stages in one, greedy sharing and kinds in a row",
                   "the candidates that its own model ranks first are simulated; simulate: 1 takes its own first choice"},
    .reconstructed = {"objective and constraints of both integer programs: the paper's exact form could not be read",
                      "effective power: (1 - bubble) x measured layers per second; all pipelines train equally many samples"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<SearchedStrategy<AutoHetSearch>>(options, kBudget, kSimulate); },
});

}  // namespace
}  // namespace trainyard
