// HAP: one SPMD program over unlike GPUs. Layers work on the samples that a GPU has (`data` axis) or on its part of the weights (`tensor`
// axis), with shares that follow the GPUs' speed; where one follows the other activations are gathered, padded or by grouped broadcasts.
// Paper: Zhang et al., HAP: SPMD DNN Training on Heterogeneous GPU Clusters with Automated Program Synthesis, EuroSys 2024, arXiv 2401.05965.
// Alternates until nothing improves: (Q) the cheapest program by best-first search over what is known of the activations, (B) shares of each
// segment by a linear program.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <queue>

#include "sim/cost/collective_uneven.hpp"
#include "sim/cost/layer_work.hpp"
#include "sim/model/whole_shares.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/integer_program.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/searched_strategy.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 20000;
constexpr int kSimulate = 12, kMostRounds = 8, kMostMicroBatches = 64;
constexpr std::array kRecomputes{RecomputeKind::none, RecomputeKind::full};

/// How a layer is cut, and the property of the activations before and behind it: shared by samples, or whole everywhere.
enum class Sharding { samples, weights };

struct Program {
  std::vector<Sharding> layers;
  Seconds cost{};                        ///< of a step, with the exchange of gradients
};

/// Shares of a program's segments, one a device: all layers that share samples are one segment, the others one as well.
struct Shares {
  std::vector<double> samples, weights;
  friend bool operator==(const Shares&, const Shares&) = default;
};

struct Shape {
  int micro_batches = 1;
  RecomputeKind recompute = RecomputeKind::none;
  Algorithm gather = Algorithm::grouped;
};

/// One micro-batch of one layer.
struct LayerPrices {
  std::vector<Seconds> whole;            ///< [device] doing all of it
  Seconds weights_traffic{};             ///< collectives of the `weights` sharding
  Bytes gradients{};
};

class HapSearch {
 public:
  HapSearch(const PlanningContext& context, Budget budget, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_), devices_(context.cluster.gpus()),
        ring_(ring_group(router_, context.cluster, devices_)), finalists_(context, router_, simulate), budget_(budget) {}

  PlanOrInfeasible search() {
    const int batch = int(context_.workload.global_batch);
    for (int micro_batches = 1; micro_batches <= std::min(batch, kMostMicroBatches); micro_batches *= 2)
      for (const RecomputeKind recompute : kRecomputes)
        if (batch % micro_batches == 0 && batch / micro_batches >= int(devices_.size())) consider({micro_batches, recompute, Algorithm::grouped});
    return finalists_.choose("a batch of fewer samples than GPUs cannot be shared by all of them", budget_.ran_out());
  }

 private:
  int layers() const { return int(costs_.module().layers.size()); }
  double samples(const Shape& shape) const { return context_.workload.global_batch / shape.micro_batches; }

  /// Q and B in turn, from shares in proportion to speed and from equal ones, with either way to gather.
  void consider(Shape shape) {
    if (!price(shape)) return;
    for (const Algorithm gather : {Algorithm::grouped, Algorithm::padded}) {
      shape.gather = gather;
      for (Shares shares : {proportional(), Shares{std::vector<double>(devices_.size(), 1.0 / double(devices_.size())), std::vector<double>(devices_.size(), 1.0 / double(devices_.size()))}}) {
        std::optional<Program> best;
        for (int round = 0; round < kMostRounds; ++round) {
          const auto program = synthesise(shape, shares);
          if (!program || (best && program->cost >= best->cost)) break;
          best = program;
          finalists_.add(plan_of(shape, *best, shares), best->cost);
          if (!budget_.take(10)) break;
          shares = balance(shape, *best, shares);
        }
      }
    }
  }

  /// False where the budget does not last for the layers on every kind of GPU.
  bool price(const Shape& shape) {
    if (!budget_.take(std::int64_t(devices_.size()))) return false;
    prices_.assign(std::size_t(layers()), LayerPrices{});
    const double even = samples(shape) / double(devices_.size());
    for (const DeviceId device : devices_) {
      const std::vector<LayerCost>& costs = costs_.of({{device}, even, shape.recompute});
      for (int l = 0; l < layers(); ++l) {
        prices_[l].whole.push_back((costs[l].forward + costs[l].backward) * double(devices_.size()));
        prices_[l].gradients = costs[l].gradients;
        output_ = costs[l].output * double(devices_.size());
      }
    }
    for (int l = 0; l < layers(); ++l) prices_[l].weights_traffic = traffic_of_weights(l, shape);
    return true;
  }

  /// Reductions and gathers among all GPUs that the layer's own pieces name.
  Seconds traffic_of_weights(int layer, const Shape& shape) const {
    const Module& module = costs_.module();
    LayerCut cut;
    cut.tensor = int(devices_.size());
    cut.sequences = samples(shape);
    cut.tokens = context_.workload.data.sequence_length;
    cut.recompute = shape.recompute;
    const LayerType& type = module.types[index(module.layers[layer].type)];
    const LayerWork work = layer_work(type, cut, context_.cluster.type_of(devices_[0]), context_.workload.precision, context_.workload.software);
    Seconds sum{};
    for (const auto* pieces : {&work.forward, &work.recompute, &work.backward})
      for (const Piece& piece : *pieces)
        if (piece.collective) sum += collective_time(ring_, piece.collective->kind, piece.collective->size);
    return sum;
  }

  /// Layers without operators, and more members than heads, cannot be cut by weights.
  bool may_cut(int layer, const std::vector<double>& shares) const {
    const Module& module = costs_.module();
    const LayerType& type = module.types[index(module.layers[layer].type)];
    if (type.only_measured()) return false;
    int heads = 0;
    for (const Operator& op : type.operators) heads = std::max(heads, op.attention.key_value_heads);
    return heads == 0 || std::ranges::count(whole_shares(shares, heads), 0) == 0;
  }

  Shares proportional() const {
    Shares shares;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      Seconds all{};
      for (const LayerPrices& layer : prices_) all += layer.whole[d];
      shares.samples.push_back(1 / all.value);
    }
    const double sum = std::accumulate(shares.samples.begin(), shares.samples.end(), 0.0);
    for (double& share : shares.samples) share /= sum;
    shares.weights = shares.samples;
    return shares;
  }

  // (Q) Program synthesis.

  Seconds compute(int layer, const std::vector<double>& shares) const {
    Seconds slowest{};
    for (std::size_t d = 0; d < devices_.size(); ++d) slowest = std::max(slowest, prices_[layer].whole[d] * shares[d]);
    return slowest;
  }

  /// One gather of all activations, as unequal parts.
  Seconds gather(const Shape& shape, const std::vector<double>& shares) const {
    if (devices_.size() < 2) return Seconds(0);
    CollectiveShape ring = ring_.shape;
    ring.kind = CollectiveKind::all_gather;
    std::vector<Bytes> parts;
    for (const double share : shares) parts.push_back(output_ * share);
    return uneven_cost(ring, ring_.transport, parts, shape.gather).alone(ring.ring_rate);
  }

  Seconds layer_cost(int layer, Sharding sharding, const Shape& shape, const Shares& shares) const {
    const double passes = shape.micro_batches;
    if (sharding == Sharding::weights) return (compute(layer, shares.weights) + prices_[layer].weights_traffic) * passes;
    return compute(layer, shares.samples) * passes + collective_time(ring_, CollectiveKind::all_reduce, prices_[layer].gradients);
  }

  /// Activations that were shared by samples are gathered before a layer cut by weights, gradients behind it on their way back.
  Seconds change_cost(Sharding from, Sharding to, const Shape& shape, const Shares& shares) const {
    return from == to ? Seconds(0) : gather(shape, shares.samples) * double(shape.micro_batches);
  }

  /// Uniform-cost search: of the ways to one property behind one layer only the cheapest is kept.
  std::optional<Program> synthesise(const Shape& shape, const Shares& shares) {
    struct State {
      Seconds cost{};
      int next = 0;
      Sharding sharding = Sharding::samples;
      std::vector<Sharding> layers;
    };
    const auto later = [](const State& a, const State& b) { return std::pair(a.cost, -a.next) > std::pair(b.cost, -b.next); };
    std::priority_queue<State, std::vector<State>, decltype(later)> open(later);
    std::map<std::pair<int, Sharding>, bool> done;
    open.push({});
    while (!open.empty()) {
      State state = open.top();
      open.pop();
      if (state.next == layers()) return Program{std::move(state.layers), state.cost};
      if (done[{state.next, state.sharding}]) continue;
      done[{state.next, state.sharding}] = true;
      if (!budget_.take()) return std::nullopt;
      for (const Sharding sharding : {Sharding::samples, Sharding::weights}) {
        if (sharding == Sharding::weights && (devices_.size() < 2 || !may_cut(state.next, shares.weights))) continue;
        State after = state;
        const Seconds change = state.next == 0 ? Seconds(0) : change_cost(state.sharding, sharding, shape, shares);
        after.cost += change + layer_cost(state.next, sharding, shape, shares);
        after.layers.push_back(sharding);
        after.sharding = sharding;
        ++after.next;
        open.push(std::move(after));
      }
    }
    return std::nullopt;
  }

  // (B) Shares.

  /// min sum over segments of (slowest device's work, and with padding the largest part that is gathered); shares sum to 1.
  Shares balance(const Shape& shape, const Program& program, const Shares& before) {
    const int changes = changes_in(program);
    const Seconds padded = shape.gather == Algorithm::padded && changes > 0 ? gather(shape, std::vector<double>(devices_.size(), 1.0)) * double(changes) : Seconds(0);
    Shares shares = before;
    shares.samples = balance_segment(program, Sharding::samples, padded, 1 / samples(shape)).value_or(before.samples);
    shares.weights = balance_segment(program, Sharding::weights, Seconds(0), 1e-3).value_or(before.weights);
    return shares;
  }

  static int changes_in(const Program& program) {
    int changes = 0;
    for (std::size_t l = 1; l < program.layers.size(); ++l) changes += program.layers[l] != program.layers[l - 1];
    return changes;
  }

  std::optional<std::vector<double>> balance_segment(const Program& program, Sharding sharding, Seconds padded, double least) const {
    std::vector<Seconds> work(devices_.size());
    for (std::size_t l = 0; l < program.layers.size(); ++l)
      for (std::size_t d = 0; d < devices_.size() && program.layers[l] == sharding; ++d) work[d] += prices_[l].whole[d];
    const Seconds most = *std::ranges::max_element(work);
    if (most <= Seconds(0)) return std::nullopt;
    IntegerProgram linear;
    const VariableId slowest = linear.add_continuous(0, 1, 1), largest = linear.add_continuous(0, 1, padded / most);
    std::vector<VariableId> share;
    LinearSum all;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      share.push_back(linear.add_continuous(least, 1));
      all.push_back({share[d], 1});
      linear.at_least({{slowest, 1}, {share[d], -(work[d] / most)}}, 0);
      linear.at_least({{largest, 1}, {share[d], -1}}, 0);
    }
    linear.equal(all, 1);
    const auto solution = linear.minimise(1);
    if (!solution) return std::nullopt;
    std::vector<double> shares;
    for (const VariableId variable : share) shares.push_back((*solution)[variable]);
    return shares;
  }

  // The Plan.

  static Settings layout_settings(AxisKind kind, const std::vector<double>& shares) {
    Settings settings;
    settings.layout = Layout{Axis{kind, shares}};
    return settings;
  }

  /// Shares as the whole numbers that they become; equal ones as 1.
  std::vector<double> counted(const std::vector<double>& shares, int count) const {
    std::vector<double> whole;
    for (const int share : whole_shares(shares, count)) whole.push_back(share);
    if (!are_unequal(whole)) whole.assign(whole.size(), 1);
    return whole;
  }

  Plan plan_of(const Shape& shape, const Program& program, const Shares& shares) const {
    constexpr int kParts = 1000;
    Stage stage;
    stage.devices = devices_;
    stage.chunks.emplace_back();
    Rule all{{}, "", {}, layout_settings(AxisKind::data, counted(shares.samples, int(samples(shape))))};
    all.settings.recompute = Recompute{shape.recompute, 1};
    Wire wire;
    wire.all_gather = shape.gather;
    all.settings.wire = wire;
    Rule weights{{}, "", {}, layout_settings(AxisKind::tensor, counted(shares.weights, kParts))};
    for (int l = 0; l < layers(); ++l) {
      stage.chunks[0].push_back(id_at<LayerId>(std::size_t(l)));
      if (program.layers[l] == Sharding::weights) weights.layers.push_back(id_at<LayerId>(std::size_t(l)));
    }
    stage.rules.push_back(all);
    if (!weights.layers.empty()) stage.rules.push_back(weights);
    Part part;
    part.stages.push_back(stage);
    part.pipelines.push_back({context_.workload.global_batch, {}, shape.micro_batches, {StageId{}}});
    Plan plan;
    plan.phases.push_back({{}, {part}, {}});
    return plan;
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  std::vector<DeviceId> devices_;
  RingGroup ring_;
  Finalists finalists_;
  Budget budget_;
  std::vector<LayerPrices> prices_;      ///< [layer], of the shape at hand
  Bytes output_{};                       ///< activations of a micro-batch between layers
};

const StrategyRegistrar registrar({
    .name = "hap",
    .summary = "one SPMD program over all GPUs with shares that follow their speed, layers cut by samples or by weights",
    .paper = "Zhang et al., HAP: SPMD DNN Training on Heterogeneous GPU Clusters with Automated Program Synthesis, EuroSys 2024, arXiv 2401.05965",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of hap"),
    .simplified = {"whole layers are the operators of a program; a layer's own collectives follow from its cut",
                   "no sufficient-factor broadcasting, and no cut of experts of their own",
                   "shares are the same for all layers cut alike"},
    .reconstructed = {"micro-batches (gradient accumulation) and recompute of all layers or none, for memory: the paper trains a batch at once",
                      "programs are ranked by the paper's sum of slowest device and traffic; the best are simulated"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<SearchedStrategy<HapSearch>>(options, kBudget, kSimulate); },
});

}  // namespace
}  // namespace trainyard
