// Pipette: the best (pipeline, tensor, data, micro-batch) by a latency model that repeats the critical path of 1F1B, with logical ranks
// mapped to nodes by simulated annealing on measured bandwidths.
// Paper: Yim et al., Pipette: Automatic Fine-grained Large Language Model Training Configurator for Real-World Clusters, DATE'24,
// arXiv 2405.18093.
// With gas = B / (d b) micro-batches a replica, g = gas / p rounded down:
//   T = g (T_pp + p (f + b)) + (p - 1)(f + b) + T_dp,   g >= 1;   T = T_pp + p (f + b) + (gas - 1)(f + b) + T_dp,   g = 0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "sim/planning/budget.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_runs.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/registry.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 60'000;
constexpr int kSimulate = 16;
/// Configurations, the best with nodes in order, whose mapping is annealed.
constexpr std::size_t kAnnealed = 12;
/// Temperatures at the start and at the end, as shares of the first latency.
constexpr double kHot = 0.05, kCold = 1e-4;
constexpr std::array kRecomputes{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};

struct Configuration {
  int pipeline = 1, tensor = 1, data = 1, micro_batch = 1;
  RecomputeKind recompute = RecomputeKind::none;
};

using NodeOrder = std::vector<int>;

class PipetteSearch {
 public:
  PipetteSearch(const PlanningContext& context, Budget budget, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_), finalists_(context, router_, simulate),
        budget_(budget), random_(context.seed) {
    std::map<NodeId, int> number;
    for (const DeviceId gpu : context.cluster.gpus()) {
      const auto [known, is_new] = number.try_emplace(context.cluster.devices[index(gpu)].node, int(nodes_.size()));
      if (is_new) nodes_.emplace_back();
      nodes_[std::size_t(known->second)].push_back(gpu);
    }
    measure();
  }

  PlanOrInfeasible search() {
    NodeOrder in_order(nodes_.size());
    std::iota(in_order.begin(), in_order.end(), 0);
    std::vector<std::pair<Seconds, Configuration>> ranked;
    for (const Configuration& configuration : configurations())
      if (budget_.take()) ranked.emplace_back(latency(configuration, in_order), configuration);
    std::ranges::stable_sort(ranked, {}, [](const auto& one) { return one.first; });
    std::size_t annealed = 0;
    for (const auto& [time, configuration] : ranked) {
      if (!add(configuration, in_order, time) || annealed == kAnnealed || nodes_.size() < 3) continue;
      ++annealed;
      const NodeOrder order = anneal(configuration, in_order, time);
      if (order != in_order) add(configuration, order, latency(configuration, order));
    }
    return finalists_.choose("no pipeline x tensor x data layout divides the devices, the layers and the batch", budget_.ran_out());
  }

 private:
  /// What a ring over all GPUs of two nodes reaches, as nccl-tests would measure it; inside a node over its own.
  void measure() {
    bandwidth_.assign(nodes_.size(), std::vector<double>(nodes_.size(), HUGE_VAL));
    for (std::size_t a = 0; a < nodes_.size(); ++a)
      for (std::size_t b = 0; b < nodes_.size(); ++b) {
        std::vector<DeviceId> gpus = nodes_[a];
        if (a != b) gpus.insert(gpus.end(), nodes_[b].begin(), nodes_[b].end());
        if (gpus.size() < 2) continue;
        const RingGroup ring = ring_group(router_, context_.cluster, gpus);
        bandwidth_[a][b] = (ring.shape.ring_rate * double(ring.shape.rings)).value;
      }
  }

  [[nodiscard]] std::vector<Configuration> configurations() const {
    std::vector<Configuration> all;
    const int gpus = int(context_.cluster.gpus().size()), batch = int(context_.workload.global_batch);
    const int layers = int(std::ranges::count(costs_.module().counted_layers(), true));
    for (int tensor = 1; tensor <= smallest_node(); tensor *= 2)
      for (int pipeline = 1; pipeline <= layers; ++pipeline) {
        if (gpus % (tensor * pipeline) != 0 || layers % pipeline != 0 || !fits_nodes(tensor)) continue;
        const int data = gpus / tensor / pipeline;
        for (int micro_batch = 1; micro_batch * data <= batch; micro_batch *= 2)
          for (const RecomputeKind recompute : kRecomputes)
            if (batch % (data * micro_batch) == 0) all.push_back({pipeline, tensor, data, micro_batch, recompute});
      }
    return all;
  }

  [[nodiscard]] int smallest_node() const { return int(std::ranges::min(nodes_, {}, &std::vector<DeviceId>::size).size()); }
  [[nodiscard]] bool fits_nodes(int tensor) const {
    return std::ranges::all_of(nodes_, [&](const auto& node) { return int(node.size()) % tensor == 0; });
  }

  /// Slowest stage, one micro-batch, on the slowest GPUs.
  Seconds pass_time(const Configuration& c) {
    const auto [known, is_new] = pass_times_.try_emplace({c.pipeline, c.tensor, c.micro_batch, int(c.recompute)});
    if (!is_new) return known->second;
    for (const auto& node : nodes_) {
      const LayerRuns runs(costs_.of({{node.begin(), node.begin() + c.tensor}, double(c.micro_batch), c.recompute}));
      for (int s = 0; s < c.pipeline; ++s) known->second = std::max(known->second, runs.time(bound(c, s), bound(c, s + 1)));
    }
    return known->second;
  }

  [[nodiscard]] int bound(const Configuration& c, int stage) const {
    const std::vector<bool> counted = costs_.module().counted_layers();
    if (stage == 0) return 0;
    if (stage == c.pipeline) return int(counted.size());
    return int(std::ranges::find(counted, true) - counted.begin()) + int(std::ranges::count(counted, true)) / c.pipeline * stage;
  }

  /// Node of a rank: tensor ranks are neighbours, then data, then pipeline.
  [[nodiscard]] std::vector<int> nodes_of_ranks(const Configuration& c, const NodeOrder& order) const {
    std::vector<int> nodes;
    for (const int node : order)
      for (std::size_t i = 0; i < nodes_[std::size_t(node)].size(); i += std::size_t(c.tensor)) nodes.push_back(node);
    return nodes;
  }

  Seconds latency(const Configuration& c, const NodeOrder& order) {
    const std::vector<int> nodes = nodes_of_ranks(c, order);
    const Seconds pass = pass_time(c), between = pipeline_time(c, nodes);
    const int gas = int(context_.workload.global_batch) / (c.data * c.micro_batch), g = gas / c.pipeline;
    const Seconds critical = between + pass * double(c.pipeline);
    if (g >= 1) return critical * double(g) + pass * double(c.pipeline - 1) + data_time(c, nodes);
    return critical + pass * double(gas - 1) + data_time(c, nodes);
  }

  /// The slowest replica's hops, there and back.
  [[nodiscard]] Seconds pipeline_time(const Configuration& c, const std::vector<int>& nodes) const {
    const double message = (element_size(context_.workload.precision) * (c.micro_batch * context_.workload.data.sequence_length * costs_.module().hidden)).value;
    double slowest = 0;
    for (int replica = 0; replica < c.data; ++replica) {
      double sum = 0;
      for (int s = 0; s + 1 < c.pipeline; ++s) sum += 2 * message / between(nodes[std::size_t(s * c.data + replica)], nodes[std::size_t((s + 1) * c.data + replica)]);
      slowest = std::max(slowest, sum);
    }
    return Seconds(slowest);
  }

  [[nodiscard]] double between(int a, int b) const { return bandwidth_[std::size_t(a)][std::size_t(b)]; }

  /// Replicas of the first stage: a ring inside each node, and one over the nodes, which those of all tensor ranks share.
  Seconds data_time(const Configuration& c, const std::vector<int>& nodes) {
    const LayerRuns runs(costs_.of({{nodes_[0].begin(), nodes_[0].begin() + c.tensor}, double(c.micro_batch), c.recompute}));
    const double message = runs.gradients(0, bound(c, 1)).value;
    std::vector<int> ring;
    int most = 1;
    for (int replica = 0, run = 0; replica < c.data; ++replica) {
      run = !ring.empty() && ring.back() == nodes[std::size_t(replica)] ? run + 1 : 1;
      if (run == 1) ring.push_back(nodes[std::size_t(replica)]);
      most = std::max(most, run);
    }
    double inside = HUGE_VAL, across = HUGE_VAL;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      inside = std::min(inside, between(ring[i], ring[i]));
      if (ring.size() > 1) across = std::min(across, between(ring[i], ring[(i + 1) % ring.size()]));
    }
    const auto time = [&](double n, double rate) { return n < 2 ? 0.0 : 2 * (n - 1) / n * message / rate; };
    return Seconds(time(most, inside) + time(double(ring.size()), across / c.tensor));
  }

  /// Whether it fits in closed form: the place of the paper's memory regressor.
  bool add(const Configuration& c, const NodeOrder& order, Seconds time) {
    ShortPlan shape;
    shape.tensor = c.tensor;
    shape.pipeline = c.pipeline;
    shape.data = c.data;
    shape.micro_batch = c.micro_batch;
    shape.settings.recompute = Recompute{c.recompute, 1};
    for (const int node : order) shape.devices.insert(shape.devices.end(), nodes_[std::size_t(node)].begin(), nodes_[std::size_t(node)].end());
    Expanded expanded = expand(shape, context_.cluster, context_.workload);
    if (!expanded.why_not.empty()) return false;
    finalists_.add(std::move(expanded.plan), time);
    return may_fit(c);
  }

  /// Of the smallest GPU in the first stage, which keeps most micro-batches.
  bool may_fit(const Configuration& c) {
    const int holders = context_.workload.software.distributed_optimizer ? c.data : 1;
    return std::ranges::all_of(nodes_, [&](const auto& node) {
      const LayerRuns runs(costs_.of({{node.begin(), node.begin() + c.tensor}, double(c.micro_batch), c.recompute}));
      return runs.held(0, bound(c, 1), c.pipeline, holders) <= costs_.usable_memory(node[0], c.tensor);
    });
  }

  NodeOrder anneal(const Configuration& c, const NodeOrder& start, Seconds first) {
    NodeOrder now = start, best = start;
    Seconds time = first, best_time = first;
    const std::int64_t steps = std::max<std::int64_t>(1, budget_.left() / std::int64_t(2 * kAnnealed));
    for (std::int64_t step = 0; step < steps && budget_.take(); ++step) {
      const double heat = first.value * kHot * std::pow(kCold / kHot, double(step) / double(steps));
      NodeOrder next = moved(now);
      const Seconds after = latency(c, next);
      if (after > time && chance() >= std::exp((time - after).value / heat)) continue;
      now = std::move(next);
      time = after;
      if (time < best_time) {
        best = now;
        best_time = time;
      }
    }
    return best;
  }

  /// Two-opt, insert, swap, insert a run, insert a run reversed.
  NodeOrder moved(NodeOrder order) {
    const std::size_t n = order.size();
    std::size_t a = below(n), b = below(n);
    if (a > b) std::swap(a, b);
    const auto at = [&](std::size_t i) { return order.begin() + std::ptrdiff_t(i); };
    const int kind = int(below(5));
    if (kind == 0) std::reverse(at(a), at(b + 1));
    if (kind == 1) std::rotate(at(a), at(a + 1), at(b + 1));
    if (kind == 2) std::swap(order[a], order[b]);
    if (kind >= 3) {
      const std::size_t middle = a + below(b - a + 1);
      if (kind == 4) std::reverse(at(a), at(middle));
      std::rotate(at(a), at(middle), at(b + 1));
    }
    return order;
  }

  std::size_t below(std::size_t n) { return std::size_t(random_() % n); }
  double chance() { return double(random_() >> 11) * 0x1p-53; }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  Finalists finalists_;
  Budget budget_;
  std::mt19937_64 random_;
  std::vector<std::vector<DeviceId>> nodes_;
  std::vector<std::vector<double>> bandwidth_;            ///< [node][node] bytes a second; with itself: inside
  std::map<std::tuple<int, int, int, int>, Seconds> pass_times_;
};

class Pipette final : public Strategy {
 public:
  explicit Pipette(const StrategyOptions& options)
      : budget_(budget_of(options.values, kBudget)), simulate_(simulate_of(options.values, kSimulate)) {}

  PlanOrInfeasible plan(const PlanningContext& context) override { return PipetteSearch(context, budget_, simulate_).search(); }

 private:
  Budget budget_;
  int simulate_;
};

const StrategyRegistrar registrar({
    .name = "pipette",
    .summary = "pipeline x tensor x data by a 1F1B latency model, nodes ordered by simulated annealing on measured bandwidths",
    .paper = "Yim et al., Pipette: Automatic Fine-grained Large Language Model Training Configurator for Real-World Clusters, DATE'24, arXiv 2405.18093",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of pipette"),
    .simplified = {"the memory regressor, trained on profiled runs, is replaced by this program's closed form",
                   "every stage takes as long as the slowest stage on the slowest GPUs",
                   "whole nodes are mapped; the 12 best configurations are annealed, by steps counted instead of 500 s"},
    .reconstructed = {"measured bandwidth of two nodes: a ring over all their GPUs; rings of several tensor ranks share it",
                      "the cooling schedule: geometric from 5 % to 0.01 % of the first latency", "recompute is a choice, since the paper's memory check has none"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Pipette>(options); },
});

}  // namespace
}  // namespace trainyard
