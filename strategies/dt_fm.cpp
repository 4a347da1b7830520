// DT-FM: equal GPUs over a slow, uneven network; a genetic search decides who replicates a stage with whom, matchings who sends to
// whom, and a travelling salesman the order of the stages.
// Paper: Yuan et al., Decentralized Training of Foundation Models in Heterogeneous Environments, NeurIPS 2022, arXiv 2206.01288.
// cost = max over sets of max_i sum_j 2 (a_ij + gradients / (D b_ij))  +  2 · least path over sets of bottleneck matchings
//        a_ij + activations / b_ij
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "sim/planning/estimate.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/planning/matching.hpp"
#include "sim/planning/plan_text.hpp"
#include "sim/planning/registry.hpp"

namespace trainyard {
namespace {

constexpr int kTrials = 4900, kPopulation = 100, kSimulate = 6, kCrossoverPoints = 5, kMostGpus = 256;

using Members = std::vector<std::vector<int>>;  ///< [set]: GPUs by number

/// Delay and rate between any two GPUs.
class Network {
 public:
  Network(const Cluster& cluster, const Router& router, const std::vector<DeviceId>& gpus)
      : size_(gpus.size()), ways_(size_ * size_) {
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < size_; ++j) {
        if (i == j) continue;
        const Route& route = router.route(gpus[i], gpus[j]);
        const Transport& transport = cluster.transports[index(router.transport_of(route))];
        ways_[i * size_ + j] = {(transport.setup + route.latency).value, 1 / route.bottleneck.value};
      }
  }
  [[nodiscard]] int size() const { return int(size_); }
  [[nodiscard]] double time(int from, int to, double bytes) const {
    const Way& way = ways_[std::size_t(from) * size_ + to];
    return way.delay + bytes * way.seconds_per_byte;
  }

 private:
  struct Way {
    double delay = 0, seconds_per_byte = 0;
  };
  std::size_t size_;
  std::vector<Way> ways_;
};

/// The genetic search for one number of sets.
class Evolution {
 public:
  Evolution(const Network& network, int sets, double gradients, double activations, std::uint64_t seed)
      : network_(network),
        sets_(sets),
        replicas_(network.size() / sets),
        gradients_(gradients),
        activations_(activations),
        random_(seed) {}

  /// The best assignment after that many offspring, in the order of the pipeline, replicas matched.
  Members evolve(int trials) {
    seed_population(std::clamp(trials / 4, 2, kPopulation));
    for (int trial = 0; trial < trials; ++trial) {
      const std::size_t a = pick(population_.size()), b = pick(population_.size());
      std::vector<int> child = cross(population_[a].genes, population_[b].genes);
      improve(child);
      const double cost = cost_of(child);
      Individual& worse = population_[a].cost > population_[b].cost ? population_[a] : population_[b];
      if (cost < worse.cost) worse = {std::move(child), cost};
    }
    const Individual& best = *std::ranges::min_element(population_, {}, &Individual::cost);
    cost_ = best.cost;
    return chained(members_of(best.genes));
  }
  [[nodiscard]] double cost() const { return cost_; }  ///< of what evolve() returned

 private:
  struct Individual {
    std::vector<int> genes;  ///< [GPU]: its set
    double cost = 0;
  };

  std::size_t pick(std::size_t count) { return std::size_t(random_() % count); }

  void shuffle(std::vector<int>& genes) {
    for (std::size_t i = genes.size(); i > 1; --i) std::swap(genes[i - 1], genes[pick(i)]);
  }

  /// The GPUs in order, set after set and round robin, then shuffles.
  void seed_population(int count) {
    for (int p = 0; p < count; ++p) {
      std::vector<int> genes(network_.size());
      for (int i = 0; i < network_.size(); ++i) genes[i] = p == 1 ? i % sets_ : i / replicas_;
      if (p > 1) shuffle(genes);
      const double cost = cost_of(genes);
      population_.push_back({std::move(genes), cost});
    }
  }

  Members members_of(const std::vector<int>& genes) const {
    Members members(sets_);
    for (int i = 0; i < int(genes.size()); ++i) members[genes[i]].push_back(i);
    return members;
  }

  /// Pieces of both parents in turn; sets that grew too large give their last GPUs to those that are short.
  std::vector<int> cross(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<std::size_t> points;
    for (int i = 0; i < kCrossoverPoints; ++i) points.push_back(pick(a.size()));
    std::ranges::sort(points);
    std::vector<int> child(a.size()), count(sets_, 0);
    std::size_t piece = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      while (piece < points.size() && points[piece] <= i) ++piece;
      child[i] = piece % 2 == 0 ? a[i] : b[i];
      ++count[child[i]];
    }
    int short_set = 0;
    for (std::size_t i = a.size(); i-- > 0;) {
      if (count[child[i]] <= replicas_) continue;
      while (count[short_set] >= replicas_) ++short_set;
      --count[child[i]];
      child[i] = short_set;
      ++count[short_set];
    }
    return child;
  }

  double row(int gpu, const std::vector<int>& set, int without) const {
    double sum = 0;
    for (const int other : set)
      if (other != gpu && other != without) sum += 2 * network_.time(gpu, other, gradients_ / replicas_);
    return sum;
  }

  /// A ring of moves: from each set the GPU that its exchange waits for goes to the next set, if that shortens the sum
  /// of both rows.
  void improve(std::vector<int>& genes) {
    Members members = members_of(genes);
    for (int s = 0; s < sets_ && sets_ > 1 && replicas_ > 1; ++s) {
      std::vector<int>&from = members[s], &to = members[(s + 1) % sets_];
      const auto worst = std::ranges::max_element(from, {}, [&](int gpu) { return row(gpu, from, gpu); });
      int best = -1;
      double gain = 1e-12;
      for (int i = 0; i < int(to.size()); ++i) {
        const double before = row(*worst, from, *worst) + row(to[i], to, to[i]);
        const double after = row(*worst, to, to[i]) + row(to[i], from, *worst);
        if (before - after <= gain) continue;
        gain = before - after;
        best = i;
      }
      if (best < 0) continue;
      std::swap(genes[*worst], genes[to[best]]);
      std::swap(*worst, to[best]);
    }
  }

  double exchange_cost(const Members& members) const {
    double worst = 0;
    for (const std::vector<int>& set : members)
      for (const int gpu : set) worst = std::max(worst, row(gpu, set, gpu));
    return worst;
  }

  std::vector<std::vector<double>> distances(const Members& members) const {
    std::vector<std::vector<double>> distance(sets_, std::vector<double>(sets_, 0));
    for (int a = 0; a < sets_; ++a)
      for (int b = a + 1; b < sets_; ++b) distance[a][b] = distance[b][a] = matching(members[a], members[b]).longest;
    return distance;
  }

  Matching matching(const std::vector<int>& from, const std::vector<int>& to) const {
    std::vector<std::vector<double>> times;
    for (const int a : from) {
      std::vector<double>& row = times.emplace_back();
      for (const int b : to) row.push_back(network_.time(a, b, activations_));
    }
    return bottleneck_matching(times);
  }

  double cost_of(const std::vector<int>& genes) const {
    const Members members = members_of(genes);
    return exchange_cost(members) + (sets_ > 1 ? 2 * shortest_open_path(distances(members)).length : 0);
  }

  Members chained(const Members& members) const {
    if (sets_ == 1) return members;
    Members chain;
    for (const int set : shortest_open_path(distances(members)).order) {
      if (chain.empty()) {
        chain.push_back(members[set]);
        continue;
      }
      std::vector<int> next;
      for (const int partner : matching(chain.back(), members[set]).partners) next.push_back(members[set][partner]);
      chain.push_back(std::move(next));
    }
    return chain;
  }

  const Network& network_;
  int sets_, replicas_;
  double gradients_, activations_;
  std::mt19937_64 random_;
  std::vector<Individual> population_;
  double cost_ = 0;
};

struct DtFmOptions {
  int trials = kTrials, pipeline = 0, simulate = kSimulate;
};

class DtFm final : public Strategy {
 public:
  explicit DtFm(const StrategyOptions& options)
      : options_{int(options.values["trials"].integer_or(kTrials)), int(options.values["pipeline"].integer_or(0)),
                 simulate_of(options.values, kSimulate)} {}

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const std::vector<DeviceId> gpus = context.cluster.gpus();
    if (int(gpus.size()) > kMostGpus)
      return Infeasible{
          fmt::format("its genetic search places single GPUs, at most {}; the cluster has {}", kMostGpus, gpus.size()),
          std::nullopt,
          {}};
    const Router router(context.cluster);
    const Network network(context.cluster, router, gpus);
    LayerCosts costs(context.cluster, context.workload, router);
    Finalists finalists(context, router, options_.simulate);
    std::vector<int> depths;
    for (int pipeline = 1; pipeline <= int(std::min(gpus.size(), costs.module().layers.size())); ++pipeline)
      if (gpus.size() % pipeline == 0 && (options_.pipeline == 0 || options_.pipeline == pipeline))
        depths.push_back(pipeline);
    for (const int pipeline : depths) {
      const Costs of = stage_costs(costs, gpus, pipeline);
      if (std::fmod(context.workload.global_batch, int(gpus.size()) / pipeline) != 0 || !of.may_fit) continue;
      Evolution evolution(network, pipeline, of.gradients, of.activations, context.seed);
      const Members chain = evolution.evolve(trials_for(int(gpus.size()), int(depths.size())));
      add_plans(context, gpus, chain, router, evolution.cost(), finalists);
    }
    return finalists.choose(
        options_.pipeline > 0
            ? "the pipeline that was asked for does not divide the GPUs and the batch, or does not fit"
            : "no number of equal stages divides the GPUs and the batch and holds the model");
  }

 private:
  /// Of the largest stage of even layers, one sample.
  struct Costs {
    double gradients = 0, activations = 0;
    bool may_fit = false;
  };

  static Costs stage_costs(LayerCosts& costs, const std::vector<DeviceId>& gpus, int pipeline) {
    Costs of;
    Bytes states{}, smallest(std::numeric_limits<double>::infinity());
    std::size_t slowest = 0;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      smallest = std::min(smallest, costs.usable_memory(gpus[i], 1));
      if (time_of(costs, gpus[i]) > time_of(costs, gpus[slowest])) slowest = i;
    }
    const std::vector<LayerCost>& layers = costs.of({{gpus[slowest]}, 1, RecomputeKind::none});
    for (int stage = 0; stage < pipeline; ++stage) {
      double gradients = 0;
      for (std::size_t l = stage * layers.size() / pipeline; l < (stage + 1) * layers.size() / pipeline; ++l) {
        gradients += layers[l].gradients.value;
        states += layers[l].weights / double(pipeline);
      }
      of.gradients = std::max(of.gradients, gradients);
    }
    of.activations = layers[layers.size() / 2].output.value;
    of.may_fit = states <= smallest;
    return of;
  }

  static Seconds time_of(LayerCosts& costs, DeviceId gpu) {
    Seconds sum{};
    for (const LayerCost& layer : costs.of({{gpu}, 1, RecomputeKind::none})) sum += layer.forward + layer.backward;
    return sum;
  }

  /// The paper's trials are for 64 GPUs; an evaluation costs about the square of their number.
  int trials_for(int gpus, int depths) const {
    const double scale = std::min(1.0, 64.0 * 64.0 / gpus / gpus);
    return std::max(4, int(options_.trials * scale / depths));
  }

  struct Way {
    const char* schedule;
    int micro_batch;
    RecomputeKind recompute;
  };

  static std::vector<Way> ways(int samples) {
    std::vector<Way> all;
    for (const char* schedule : {"gpipe", "1f1b"})
      for (int micro_batch = 1; micro_batch <= std::min(samples, 256); micro_batch *= 2)
        for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::full})
          if (samples % micro_batch == 0) all.push_back({schedule, micro_batch, recompute});
    return all;
  }

  static void add_plans(const PlanningContext& context, const std::vector<DeviceId>& gpus, const Members& chain,
                        const Router& router, double cost, Finalists& finalists) {
    ShortPlan shape;
    shape.pipeline = int(chain.size());
    shape.data = int(chain[0].size());
    for (const std::vector<int>& set : chain)
      for (const int gpu : set) shape.devices.push_back(gpus[gpu]);
    const int samples = int(context.workload.global_batch) / shape.data;
    for (const auto& [schedule, micro_batch, recompute] : ways(samples)) {
      shape.schedule = schedule;
      shape.micro_batch = micro_batch;
      shape.settings.recompute = Recompute{recompute, 1};
      Expanded expanded = expand(shape, context.cluster, context.workload);
      if (!expanded.why_not.empty()) continue;
      if (!expanded.plan.check(context.cluster, context.workload).empty()) continue;
      const Seconds time = estimate_step(expanded.plan, context.cluster, context.workload, router).step_time;
      finalists.add(std::move(expanded.plan), time + Seconds(cost));  // the first sees no contention, the second no kernels
    }
  }

  DtFmOptions options_;
};

const StrategyRegistrar registrar({
    .name = "dt_fm",
    .summary =
        "stages and replicas placed on a slow, uneven network by a genetic search, matchings and a travelling salesman",
    .paper = "Yuan et al., Decentralized Training of Foundation Models in Heterogeneous Environments, NeurIPS 2022, "
             "arXiv 2206.01288",
    .options = schema::object(
        {schema::optional("trials",
                          schema::integer(between(1, 1000000),
                                          "offspring, shared by the depths that are tried; fewer above 64 GPUs"),
                          std::to_string(kTrials)),
         schema::optional("pipeline",
                          schema::integer(between(0, 10000), "stages; 0: every number that divides the GPUs"), "0"),
         simulate_option(kSimulate)},
        "options of dt_fm"),
    .simplified = {"gradients are exchanged over a ring instead of a sharded parameter server, and shared as the "
                   "software does (ZeRO)",
                   "all GPUs get equal work, as in the paper, at the pace of the slowest; one at a time exchanges with "
                   "its neighbour set",
                   "besides gpipe, 1f1b of the same traffic: gpipe as simulated keeps the logits of all micro-batches",
                   "above 10 stages the path through them is a nearest-neighbour walk; not run above 256 GPUs"},
    .reconstructed =
        {"depth, micro-batch, schedule and recompute are chosen by cost + the closed-form time of a step; the paper sets them by hand"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<DtFm>(options); },
});

}  // namespace
}  // namespace trainyard
