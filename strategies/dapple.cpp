// DAPPLE: pipeline stages that are each replicated on a set of GPUs; cuts, replicas and placement chosen together.
// Paper: Fan et al., DAPPLE: A Pipelined Data Parallel Approach for Training Large Models, PPoPP'21, arXiv 2007.01045.
// Dynamic programming over (layers placed, GPUs used on each machine). A state keeps the best prefix of stages, judged with everything
// that is left as one last stage; the next stage takes GPUs by three policies: fresh machines first, used machines first, scattered.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <ranges>

#include "sim/planning/budget.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_runs.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/stage_plan.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

constexpr std::int64_t kBudget = 600'000;
constexpr int kSimulate = 24;
/// Prefixes of equally many layers that are extended.
constexpr std::size_t kStates = 12;
/// Above so many free GPUs a stage takes a power of two or whole machines' worth.
constexpr int kTryEveryCount = 16;
constexpr std::array kRecomputes{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};

enum class Placement { fresh_first, append_first, scatter_first };
constexpr std::array kPlacements{Placement::fresh_first, Placement::append_first, Placement::scatter_first};

using Used = std::vector<int>;           // GPUs taken on each machine, in order

struct Replicas {
  std::vector<DeviceId> devices;
  std::vector<int> kinds;                ///< distinct kinds of GPUs among them
  BytesPerSecond rate{};                 ///< at which they exchange gradients
  [[nodiscard]] int count() const { return int(devices.size()); }
};

struct DappleStage {
  int first = 0, last = 0;
  const Replicas* on = nullptr;
};

/// A plan by DAPPLE's own model.
struct Judged {
  Seconds latency{};
  bool fits = true;
  std::vector<RecomputeKind> recompute;  ///< [stage]
};

/// The fastest, by its model, of each number of stages and of each micro-batch size.
struct Candidate {
  Plan plan;
  Seconds latency{};
};
using BestPlans = std::map<std::pair<char, std::size_t>, Candidate>;

struct Prefix {
  std::vector<DappleStage> stages;
  Seconds latency{};                     ///< with what is left as one stage
};

/// Kinds of GPUs, and what layers cost them.
class Profiles {
 public:
  Profiles(const Cluster& cluster, const Workload& workload, const Router& router) : cluster_(cluster), costs_(cluster, workload, router) {
    for (const DeviceId gpu : cluster.gpus()) {
      const Device& device = cluster.devices[index(gpu)];
      const auto [known, is_new] = kinds_.try_emplace({device.type, device.slowdown}, int(example_.size()));
      if (is_new) example_.push_back(gpu);
      kind_of_[gpu] = known->second;
    }
  }

  [[nodiscard]] int layers() const { return int(costs_.module().layers.size()); }
  [[nodiscard]] std::vector<int> kinds_of(const std::vector<DeviceId>& devices) const {
    std::vector<int> kinds;
    for (const DeviceId device : devices)
      if (std::ranges::find(kinds, kind_of_.at(device)) == kinds.end()) kinds.push_back(kind_of_.at(device));
    return kinds;
  }
  [[nodiscard]] const LayerRuns& runs(int kind, double sequences, RecomputeKind recompute) {
    const auto [known, is_new] = runs_.try_emplace({kind, sequences, int(recompute)});
    if (is_new) known->second = LayerRuns(costs_.of({{example_[kind]}, sequences, recompute}));
    return known->second;
  }
  [[nodiscard]] Bytes usable(int kind) const { return costs_.usable_memory(example_[kind], 1); }

 private:
  const Cluster& cluster_;
  LayerCosts costs_;
  std::map<std::pair<DeviceTypeId, double>, int> kinds_;
  std::map<DeviceId, int> kind_of_;
  std::vector<DeviceId> example_;        ///< [kind]
  std::map<std::tuple<int, double, int>, LayerRuns> runs_;
};

class DappleSearch {
 public:
  DappleSearch(const PlanningContext& context, const Router& router, Profiles& profiles, int micro_batch, Budget& budget, BestPlans& best)
      : cluster_(context.cluster), router_(router), profiles_(profiles), micro_batch_(micro_batch),
        micro_batches_(int(context.workload.global_batch) / micro_batch), shards_(context.workload.software.distributed_optimizer), budget_(budget), best_(best) {
    for (const Node& node : cluster_.nodes) {
      std::vector<DeviceId> gpus;
      for (const DeviceId device : node.devices)
        if (cluster_.devices[index(device)].kind == DeviceKind::gpu) gpus.push_back(device);
      if (!gpus.empty()) machines_.push_back(std::move(gpus));
    }
  }

  void search() {
    states_.resize(std::size_t(profiles_.layers()));
    states_[0][Used(machines_.size(), 0)] = {};
    complete({}, 0, Used(machines_.size(), 0));
    for (int layer = 0; layer + 1 < profiles_.layers(); ++layer)
      for (const auto& [used, prefix] : best_states(layer))
        if (!extend(*prefix, layer, *used)) break;
  }

 private:
  std::vector<std::pair<const Used*, const Prefix*>> best_states(int layer) const {
    std::vector<std::pair<const Used*, const Prefix*>> states;
    for (const auto& [used, prefix] : states_[layer]) states.emplace_back(&used, &prefix);
    std::ranges::stable_sort(states, {}, [](const auto& state) { return state.second->latency; });
    if (states.size() > kStates) states.resize(kStates);
    return states;
  }

  /// Every next stage after a prefix; false where the budget ended.
  bool extend(const Prefix& prefix, int layer, const Used& used) {
    for (int count : counts(used))
      for (const Used& taken : placements(used, count)) {
        DappleStage stage{layer, 0, &replicas_on(taken, used)};
        const Used after = sum(used, taken);
        for (stage.last = layer + 1; stage.last < profiles_.layers(); ++stage.last) {
          if (!budget_.take()) return false;
          if (bool fits = true; recompute_of(stage, 1, fits), !fits) break;
          Prefix longer = prefix;
          longer.stages.push_back(stage);
          const std::optional<Seconds> latency = complete(longer.stages, stage.last, after);
          if (!latency) continue;
          longer.latency = *latency;
          const auto [known, is_new] = states_[stage.last].try_emplace(after, longer);
          if (!is_new && longer.latency < known->second.latency) known->second = std::move(longer);
        }
      }
    return true;
  }

  /// The stages with the rest as one more; nothing where no GPU is left for it. Kept where it fits.
  std::optional<Seconds> complete(std::vector<DappleStage> stages, int layer, const Used& used) {
    int left = free(used);
    while (left > 0 && micro_batch_ % left != 0) --left;
    if (left == 0) return std::nullopt;
    stages.push_back({layer, profiles_.layers(), &rest_on(used, left)});
    Judged judged = judge(stages);
    if (judged.fits)
      for (const auto& key : {std::pair('s', stages.size()), std::pair('m', std::size_t(micro_batch_))})
        if (const auto [known, is_new] = best_.try_emplace(key); is_new || judged.latency < known->second.latency)
          known->second = {plan_of_stages(stages, judged.recompute), judged.latency};
    return judged.latency;
  }

  const Replicas& rest_on(const Used& used, int count) {
    const auto known = rests_.find(used);
    if (known != rests_.end()) return *known->second;
    return *(rests_[used] = &replicas_on(take(used, count, Placement::append_first), used));
  }

  [[nodiscard]] int free(const Used& used) const {
    int left = 0;
    for (std::size_t m = 0; m < machines_.size(); ++m) left += int(machines_[m].size()) - used[m];
    return left;
  }

  /// How many GPUs the next stage may take: they share a micro-batch equally, and one is left for the last stage.
  [[nodiscard]] std::vector<int> counts(const Used& used) const {
    const int left = free(used), machine = int(machines_.front().size());
    std::vector<int> counts;
    for (int count = 1; count < left; ++count) {
      const bool is_round = (count & (count - 1)) == 0 || count % machine == 0;
      if (micro_batch_ % count == 0 && (left <= kTryEveryCount || is_round)) counts.push_back(count);
    }
    return counts;
  }

  [[nodiscard]] std::vector<Used> placements(const Used& used, int count) const {
    std::vector<Used> all;
    for (const Placement policy : kPlacements)
      if (Used taken = take(used, count, policy); std::ranges::find(all, taken) == all.end()) all.push_back(std::move(taken));
    return all;
  }

  [[nodiscard]] Used take(const Used& used, int count, Placement policy) const {
    Used taken(machines_.size(), 0);
    if (policy == Placement::scatter_first && std::ranges::any_of(used, [](int n) { return n > 0; }))
      scatter(used, count, true, taken);
    if (policy == Placement::scatter_first) scatter(used, count, false, taken);
    for (const bool fresh : {policy == Placement::fresh_first, policy != Placement::fresh_first})
      for (std::size_t m = 0; m < machines_.size(); ++m)
        if ((used[m] == 0) == fresh) {
          const int more = std::min(count - std::accumulate(taken.begin(), taken.end(), 0), int(machines_[m].size()) - used[m] - taken[m]);
          taken[m] += more;
        }
    return taken;
  }

  /// One GPU after the other, machine by machine; with `only_used` on machines that work already.
  void scatter(const Used& used, int count, bool only_used, Used& taken) const {
    for (bool any = true; any && std::accumulate(taken.begin(), taken.end(), 0) < count;) {
      any = false;
      for (std::size_t m = 0; m < machines_.size() && std::accumulate(taken.begin(), taken.end(), 0) < count; ++m)
        if ((!only_used || used[m] > 0) && used[m] + taken[m] < int(machines_[m].size())) {
          ++taken[m];
          any = true;
        }
    }
  }

  static Used sum(Used used, const Used& taken) {
    for (std::size_t m = 0; m < used.size(); ++m) used[m] += taken[m];
    return used;
  }

  const Replicas& replicas_on(const Used& taken, const Used& used) {
    const auto [known, is_new] = replicas_.try_emplace({taken, used});
    Replicas& replicas = known->second;
    if (!is_new) return replicas;
    for (std::size_t m = 0; m < machines_.size(); ++m)
      for (int i = 0; i < taken[m]; ++i) replicas.devices.push_back(machines_[m][std::size_t(used[m] + i)]);
    replicas.kinds = profiles_.kinds_of(replicas.devices);
    if (replicas.count() > 1) {
      const RingGroup ring = ring_group(router_, cluster_, replicas.devices);
      replicas.rate = ring.shape.ring_rate * double(ring.shape.rings);
    }
    return replicas;
  }

  [[nodiscard]] double sequences(const DappleStage& stage) const { return double(micro_batch_) / stage.on->count(); }

  /// Early backward scheduling keeps S - s micro-batches; the least recompute that fits, else full.
  RecomputeKind recompute_of(const DappleStage& stage, int after, bool& fits) {
    const int held = std::min(after + 1, micro_batches_);
    const int holders = shards_ ? stage.on->count() : 1;
    for (const RecomputeKind recompute : kRecomputes)
      if (std::ranges::all_of(stage.on->kinds, [&](int kind) {
            return profiles_.runs(kind, sequences(stage), recompute).held(stage.first, stage.last, held, holders) <= profiles_.usable(kind);
          }))
        return recompute;
    fits = false;
    return RecomputeKind::full;
  }

  /// A stage, or what passes between two.
  struct Step {
    Seconds forward{}, backward{}, exchange{};
  };

  Step step_of(const DappleStage& stage, RecomputeKind recompute) {
    Step step;
    for (const int kind : stage.on->kinds) {
      const LayerRuns& runs = profiles_.runs(kind, sequences(stage), recompute);
      step.forward = std::max(step.forward, runs.forward(stage.first, stage.last));
      step.backward = std::max(step.backward, runs.backward(stage.first, stage.last));
    }
    const double n = stage.on->count();
    if (n > 1)
      step.exchange = profiles_.runs(stage.on->kinds.front(), sequences(stage), recompute).gradients(stage.first, stage.last) * (2 * (n - 1) / n) / stage.on->rate;
    return step;
  }

  /// Split and concatenation: the busier side's GPUs each pass their share of the micro-batch.
  Step step_between(const DappleStage& from, const DappleStage& to) {
    const Bytes whole = profiles_.runs(from.on->kinds.front(), sequences(from), RecomputeKind::none).output(from.last) * double(from.on->count());
    const Bytes size = whole / double(std::min(from.on->count(), to.on->count()));
    const DeviceId sender = from.on->devices.back(), receiver = to.on->devices.front();
    const auto [known, is_new] = transfers_.try_emplace({sender, receiver, size.value});
    if (is_new) known->second = transfer_time(router_, cluster_, sender, receiver, size);
    return {known->second, known->second, Seconds(0)};
  }

  Judged judge(const std::vector<DappleStage>& stages) {
    Judged judged;
    std::vector<Step> steps;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      judged.recompute.push_back(recompute_of(stages[s], int(stages.size() - s) - 1, judged.fits));
      steps.push_back(step_of(stages[s], judged.recompute.back()));
      if (s + 1 < stages.size()) steps.push_back(step_between(stages[s], stages[s + 1]));
    }
    judged.latency = latency(steps);
    return judged;
  }

  /// L = Tw + Ts + Te around the pivot, the step with the least bubble (§4.1): warm-up, steady phase, and the ends of all stages' last
  /// backward passes with their exchanges.
  [[nodiscard]] Seconds latency(const std::vector<Step>& steps) const {
    const auto steady = [&](std::size_t s) { return (steps[s].forward + steps[s].backward) * double(micro_batches_ - 1); };
    std::size_t pivot = steps.size() - 1;
    Seconds between{};                    // of the steps between s and the pivot
    for (std::size_t s = steps.size() - 1; s-- > 0;) {
      if (steady(s) > steady(pivot) + between) {
        pivot = s;
        between = Seconds(0);
      } else {
        between += steps[s].forward + steps[s].backward;
      }
    }
    Seconds warm_up{}, end{}, offset{};
    for (std::size_t s = 0; s <= pivot; ++s) warm_up += steps[s].forward;
    for (std::size_t s = pivot + 1; s-- > 0;) {
      offset += steps[s].backward;
      end = std::max(end, steps[s].exchange + offset);
    }
    offset = Seconds(0);
    for (std::size_t s = pivot + 1; s < steps.size(); ++s) {
      end = std::max(end, steps[s].exchange - offset);
      offset += steps[s].backward;
    }
    return warm_up + steady(pivot) + end;
  }

  [[nodiscard]] Plan plan_of_stages(const std::vector<DappleStage>& stages, const std::vector<RecomputeKind>& recompute) const {
    PipelineChoice pipeline;
    pipeline.batch = double(micro_batch_) * micro_batches_;
    pipeline.micro_batches = micro_batches_;
    for (std::size_t s = 0; s < stages.size(); ++s)
      pipeline.stages.push_back({stages[s].first, stages[s].last, stages[s].on->devices, 1, {recompute[s], 1}});
    return plan_of({pipeline});
  }

  const Cluster& cluster_;
  const Router& router_;
  Profiles& profiles_;
  int micro_batch_ = 1, micro_batches_ = 1;
  bool shards_ = false;                                   ///< the optimizer's states, over the replicas
  Budget& budget_;
  std::vector<std::vector<DeviceId>> machines_;
  std::vector<std::map<Used, Prefix>> states_;            ///< [layers placed]
  std::map<std::pair<Used, Used>, Replicas> replicas_;    ///< [taken, used before]
  std::map<Used, const Replicas*> rests_;
  std::map<std::tuple<DeviceId, DeviceId, double>, Seconds> transfers_;
  BestPlans& best_;
};

class Dapple final : public Strategy {
 public:
  explicit Dapple(const StrategyOptions& options)
      : budget_(options.values["budget"].integer_or(kBudget)), simulate_(simulate_of(options.values, kSimulate)) {}

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const Router router(context.cluster);
    Profiles profiles(context.cluster, context.workload, router);
    Finalists finalists(context, router, simulate_);
    std::vector<int> sizes;
    for (int size = 1; size <= int(context.workload.global_batch); ++size)
      if (int(context.workload.global_batch) % size == 0) sizes.push_back(size);
    BestPlans best;
    bool truncated = false;
    for (const int size : sizes) {
      Budget share(std::max<std::int64_t>(1, budget_ / std::int64_t(sizes.size())));
      DappleSearch(context, router, profiles, size, share, best).search();
      truncated = truncated || share.ran_out();
    }
    for (Candidate& candidate : std::views::values(best)) finalists.add(std::move(candidate.plan), candidate.latency);
    return finalists.choose("no cut of the layers fits the GPUs' memory", truncated);
  }

 private:
  std::int64_t budget_;
  int simulate_;
};

const StrategyRegistrar registrar({
    .name = "dapple",
    .summary = "pipeline stages of unequal replication, placed fresh-first, append-first or scattered",
    .paper = "Fan et al., DAPPLE: A Pipelined Data Parallel Approach for Training Large Models, PPoPP'21, arXiv 2007.01045",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of dapple"),
    .simplified = {"of the prefixes with equally many layers, the best 12 are extended",
                   "above 16 free GPUs a stage takes a power of two or whole machines' worth",
                   "no tensor axis, as in the paper: a layer must fit one GPU",
                   "replicas of a stage get equal shares of a micro-batch, also where their GPUs differ",
                   "a share of the budget for every micro-batch size that divides the batch; the best plan of each number of stages and of each size is simulated"},
    .reconstructed = {"the ending phase counts the pivot's own backward pass",
                      "recompute: the least that fits with S - s micro-batches held in stage s"},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Dapple>(options); },
});

}  // namespace
}  // namespace trainyard
