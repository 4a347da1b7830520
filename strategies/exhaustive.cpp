// The best layout of a small cluster, by looking at all of them: what planners are measured against.
// Space: which GPUs work at all, sets of them as pipelines, ordered stages of GPUs in each, tensor groups inside nodes (the other GPUs
// of a stage share the samples), every cut of the layers, micro-batch sizes, how many micro-batches each pipeline gets, and for each
// stage the least recompute that fits. All are ranked by the 1F1B formula; the best, each once up to exchange of equal GPUs, are
// ranked again with estimate_step, and the best of those are simulated.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <set>

#include "sim/cost/memory.hpp"
#include "sim/planning/budget.hpp"
#include "sim/planning/device_groups.hpp"
#include "sim/planning/estimate.hpp"
#include "sim/planning/finalists.hpp"
#include "sim/planning/layer_runs.hpp"
#include "sim/planning/link_times.hpp"
#include "sim/planning/registry.hpp"
#include "sim/planning/stage_plan.hpp"
#include "sim/routing/router.hpp"

namespace trainyard {
namespace {

constexpr int kMostGpus = 6, kMostLayers = 8;
constexpr std::int64_t kBudget = 50'000'000;
constexpr int kSimulate = 700;
/// Of each micro-batch size, number of pipelines and number of stages: ranked again with estimate_step, and then kept for the simulation.
constexpr std::size_t kSecondRound = 120, kThirdRound = 10;
/// A way to be a pipeline is forgotten where another is faster by this factor both in sum and in its slowest stage.
constexpr double kSlack = 1.03;
/// Ways of one pipeline that are combined with those of others, by the number of pipelines.
constexpr std::array<std::size_t, kMostGpus + 1> kWaysCombined{0, 40, 7, 3, 2, 2, 2};
constexpr std::array kRecomputes{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};

using Mask = unsigned;                   // a set of GPUs

struct StageWay {
  Mask gpus = 0;
  int tensor = 1;
  int first = 0, last = 0;
  RecomputeKind recompute = RecomputeKind::none;
  Seconds sends{};                       ///< one message to the next stage
};

/// One way for one set of GPUs to be a pipeline: step(n) = sum + (n - 1) · slowest.
struct PipelineWay {
  std::vector<StageWay> stages;
  Seconds sum{}, slowest{};
  [[nodiscard]] Seconds step(int micro_batches) const { return sum + slowest * double(micro_batches - 1); }
};

/// What a stage of these GPUs does with a micro-batch, by recompute.
struct StageTable {
  std::array<LayerRuns, kRecomputes.size()> runs;
  Bytes usable{};
};

struct Combination {
  std::vector<const PipelineWay*> pipelines;
  std::vector<int> micro_batches;
  int micro_batch = 1;
  Seconds estimate{};
};

class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const PlanningContext& context, Budget budget, int simulate)
      : context_(context), router_(context.cluster), costs_(context.cluster, context.workload, router_), gpus_(context.cluster.gpus()),
        layers_(int(costs_.module().layers.size())), budget_(budget), combining_(budget), simulate_(simulate) {}

  PlanOrInfeasible search() {
    const int batch = int(context_.workload.global_batch);
    for (micro_batch_ = 1; micro_batch_ <= batch; ++micro_batch_)
      if (batch % micro_batch_ == 0) search_micro_batch();
    return choose();
  }

 private:
  void search_micro_batch() {
    tables_.clear();
    std::map<Mask, std::vector<PipelineWay>>& ways = ways_[micro_batch_];
    for (Mask gpus = 1; gpus < Mask(1) << gpus_.size(); ++gpus) ways[gpus] = ways_of(gpus);
    std::vector<Mask> chosen;
    partition((Mask(1) << gpus_.size()) - 1, chosen);
  }

  [[nodiscard]] std::vector<DeviceId> devices_of(Mask gpus) const {
    std::vector<DeviceId> devices;
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (gpus >> i & 1) devices.push_back(gpus_[i]);
    return devices;
  }

  [[nodiscard]] NodeId node_of(DeviceId device) const { return context_.cluster.devices[index(device)].node; }

  /// Tensor groups are neighbours on one node; heads must divide, and the samples over the groups.
  [[nodiscard]] bool may_cut(const std::vector<DeviceId>& devices, int tensor) const {
    if (int(devices.size()) % tensor != 0 || micro_batch_ % (int(devices.size()) / tensor) != 0) return false;
    for (std::size_t i = 0; i < devices.size(); ++i)
      if (node_of(devices[i]) != node_of(devices[i - i % std::size_t(tensor)])) return false;
    return divides_heads(costs_.module(), tensor);
  }

  /// Null where these GPUs cannot be cut so.
  const StageTable* table(Mask gpus, int tensor) {
    const auto [known, is_new] = tables_.try_emplace({gpus, tensor});
    if (!is_new) return known->second ? &*known->second : nullptr;
    const std::vector<DeviceId> devices = devices_of(gpus);
    if (!may_cut(devices, tensor)) return nullptr;
    StageTable& table = known->second.emplace();
    const double sequences = double(micro_batch_) * tensor / double(devices.size());
    table.usable = costs_.usable_memory(devices[0], tensor);
    for (const DeviceId device : devices) table.usable = std::min(table.usable, costs_.usable_memory(device, tensor));
    for (std::size_t r = 0; r < kRecomputes.size(); ++r)
      for (std::size_t first = 0; first < devices.size(); first += std::size_t(tensor)) {
        const std::vector<DeviceId> group(devices.begin() + std::ptrdiff_t(first), devices.begin() + std::ptrdiff_t(first) + tensor);
        const LayerRuns runs(costs_.of({group, sequences, kRecomputes[r]}));
        first == 0 ? void(table.runs[r] = runs) : table.runs[r].keep_slower(runs);
      }
    return &table;
  }

  /// Every ordered partition into stages, tensor size and cut that no other clearly beats both in sum and in slowest stage.
  std::vector<PipelineWay> ways_of(Mask gpus) {
    std::vector<PipelineWay> best;
    std::vector<StageWay> stages;
    order_stages(gpus, stages, best);
    return best;
  }

  void order_stages(Mask left, std::vector<StageWay>& stages, std::vector<PipelineWay>& best) {
    if (left == 0) return cut_layers(stages, best);
    for (Mask gpus = left; gpus != 0; gpus = (gpus - 1) & left)
      for (int tensor = 1; tensor <= std::popcount(gpus); tensor *= 2) {
        if (!table(gpus, tensor)) continue;
        stages.push_back({gpus, tensor});
        order_stages(left & ~gpus, stages, best);
        stages.pop_back();
      }
  }

  void cut_layers(const std::vector<StageWay>& stages, std::vector<PipelineWay>& best) {
    PipelineWay way;
    way.stages = stages;
    place_cut(way, 0, 0, best);
  }

  void place_cut(PipelineWay& way, std::size_t stage, int first, std::vector<PipelineWay>& best) {
    const int after = int(way.stages.size() - stage) - 1;
    const PipelineWay before = way;
    for (int last = after == 0 ? layers_ : first + 1; last <= layers_ - after; ++last) {
      if (!budget_.take()) return;
      way = before;
      if (!put(way, stage, first, last)) break;  // more layers fit no better
      if (after > 0)
        place_cut(way, stage + 1, last, best);
      else
        keep(way, best);
    }
    way = before;
  }

  /// The stage with the least recompute that fits; false where none does.
  bool put(PipelineWay& way, std::size_t stage, int first, int last) {
    StageWay& at = way.stages[stage];
    const StageTable& known = *table(at.gpus, at.tensor);
    const int in_flight = std::min(int(way.stages.size() - stage), int(context_.workload.global_batch) / micro_batch_);
    const int holders = context_.workload.software.distributed_optimizer ? std::popcount(at.gpus) / at.tensor : 1;
    const auto fits = [&](const LayerRuns& runs) { return runs.held(first, last, in_flight, holders) <= known.usable; };
    const auto found = std::ranges::find_if(known.runs, fits);
    if (found == known.runs.end()) return false;
    at.first = first;
    at.last = last;
    at.recompute = kRecomputes[std::size_t(found - known.runs.begin())];
    // A message holds both its ends, and both directions of a link are busy at once.
    at.sends = stage + 1 < way.stages.size() ? transfer(at, way.stages[stage + 1], *found) : Seconds(0);
    const Seconds time = found->time(first, last) + at.sends + (stage > 0 ? way.stages[stage - 1].sends : Seconds(0));
    way.sum += time;
    way.slowest = std::max(way.slowest, time);
    return true;
  }

  Seconds transfer(const StageWay& from, const StageWay& to, const LayerRuns& runs) {
    const int senders = std::popcount(from.gpus) / from.tensor, receivers = std::popcount(to.gpus) / to.tensor;
    const Bytes size = runs.output(from.last) * std::max(1.0, double(senders) / receivers);
    const int source = std::countr_zero(from.gpus), target = std::countr_zero(to.gpus);
    const auto [known, is_new] = transfers_.try_emplace({source, target, size.value});
    if (is_new) known->second = transfer_time(router_, context_.cluster, gpus_[source], gpus_[target], size);
    return known->second;
  }

  static void keep(const PipelineWay& way, std::vector<PipelineWay>& best) {
    const auto beats = [](const PipelineWay& a, const PipelineWay& b) { return a.sum * kSlack <= b.sum && a.slowest * kSlack <= b.slowest; };
    if (std::ranges::any_of(best, [&](const PipelineWay& other) { return beats(other, way); })) return;
    std::erase_if(best, [&](const PipelineWay& other) { return beats(way, other); });
    best.push_back(way);
  }

  /// All partitions of the GPUs into pipelines; a GPU may stay idle.
  void partition(Mask left, std::vector<Mask>& chosen) {
    if (left == 0) {
      if (!chosen.empty()) combine(chosen);
      return;
    }
    const Mask lowest = left & ~(left - 1), others = left & ~lowest;
    partition(others, chosen);
    for (Mask more = others;; more = (more - 1) & others) {
      chosen.push_back(lowest | more);
      if (!ways_.at(micro_batch_).at(lowest | more).empty()) partition(others & ~more, chosen);
      chosen.pop_back();
      if (more == 0) break;
    }
  }

  /// Micro-batches go one by one to the pipeline that would end first; then the best ways of each pipeline for its share.
  void combine(const std::vector<Mask>& masks) {
    const int micro_batches = int(context_.workload.global_batch) / micro_batch_;
    if (micro_batches < int(masks.size()) || !combining_.take()) return;
    std::vector<int> shares(masks.size(), 1);
    for (int given = int(masks.size()); given < micro_batches; ++given) {
      std::size_t best = 0;
      for (std::size_t p = 1; p < masks.size(); ++p)
        if (fastest(masks[p], shares[p] + 1) < fastest(masks[best], shares[best] + 1)) best = p;
      ++shares[best];
    }
    Combination combination;
    combination.micro_batches = shares;
    combination.micro_batch = micro_batch_;
    choose_ways(masks, combination);
  }

  Seconds fastest(Mask gpus, int micro_batches) {
    const auto [known, is_new] = fastest_.try_emplace({micro_batch_, gpus, micro_batches});
    if (is_new)
      known->second = std::ranges::min(ways_.at(micro_batch_).at(gpus), {}, [&](const PipelineWay& way) { return way.step(micro_batches); }).step(micro_batches);
    return known->second;
  }

  void choose_ways(const std::vector<Mask>& masks, Combination& combination) {
    const std::size_t p = combination.pipelines.size();
    if (p == masks.size()) return consider(combination);
    std::vector<const PipelineWay*> ways;
    for (const PipelineWay& way : ways_.at(micro_batch_).at(masks[p])) ways.push_back(&way);
    std::ranges::stable_sort(ways, {}, [&](const PipelineWay* way) { return way->step(combination.micro_batches[p]); });
    if (ways.size() > kWaysCombined[masks.size()]) ways.resize(kWaysCombined[masks.size()]);
    for (const PipelineWay* way : ways) {
      combination.pipelines.push_back(way);
      choose_ways(masks, combination);
      combination.pipelines.pop_back();
    }
  }

  void consider(Combination combination) {
    for (std::size_t p = 0; p < combination.pipelines.size(); ++p)
      combination.estimate = std::max(combination.estimate, combination.pipelines[p]->step(combination.micro_batches[p]));
    combination.estimate += exchange(combination);
    if (found_.insert({key_of(combination), combination.estimate}).second) combinations_.push_back(std::move(combination));
  }

  /// Gradients of the layers that each set of GPUs holds together, one exchange after the other on the busiest GPU.
  Seconds exchange(const Combination& combination) {
    std::map<Mask, Bytes> groups;
    for (int layer = 0; layer < layers_; ++layer) {
      Mask holders = 0;
      Bytes size{};
      for (const PipelineWay* way : combination.pipelines)
        for (const StageWay& stage : way->stages)
          if (stage.first <= layer && layer < stage.last) {
            holders |= stage.gpus;
            size = std::max(size, table_of(combination.micro_batch, stage).gradients(layer, layer + 1));
          }
      groups[holders] += size;
    }
    std::vector<Seconds> busy(gpus_.size());
    for (const auto& [holders, size] : groups)
      if (std::popcount(holders) > 1)
        for (std::size_t i = 0; i < gpus_.size(); ++i)
          if (holders >> i & 1) busy[i] += collective_time(ring(holders), CollectiveKind::all_reduce, size);
    return *std::ranges::max_element(busy);
  }

  const LayerRuns& table_of(int, const StageWay& stage) { return table(stage.gpus, stage.tensor)->runs[0]; }

  const RingGroup& ring(Mask gpus) {
    const auto [known, is_new] = rings_.try_emplace(gpus);
    if (is_new) known->second = ring_group(router_, context_.cluster, devices_of(gpus));
    return known->second;
  }

  /// Equal for combinations that differ only in which of several equal GPUs of equal nodes does what.
  [[nodiscard]] std::string key_of(const Combination& combination) const {
    std::vector<std::string> pipelines;
    for (std::size_t p = 0; p < combination.pipelines.size(); ++p) {
      std::string text = fmt::format("{}x{}:", combination.micro_batches[p], combination.micro_batch);
      for (const StageWay& stage : combination.pipelines[p]->stages) {
        text += fmt::format("{}-{},{},{}", stage.first, stage.last, stage.tensor, int(stage.recompute));
        for (const DeviceId device : devices_of(stage.gpus)) {
          const Device& gpu = context_.cluster.devices[index(device)];
          text += fmt::format("/{}*{}@{}", index(gpu.type), gpu.slowdown, context_.cluster.nodes[index(gpu.node)].group);
        }
      }
      pipelines.push_back(text);
    }
    std::ranges::sort(pipelines);
    std::string key;
    for (const std::string& text : pipelines) key += text + ";";
    return key;
  }

  [[nodiscard]] Plan plan_of_combination(const Combination& combination) const {
    std::vector<PipelineChoice> pipelines;
    for (std::size_t p = 0; p < combination.pipelines.size(); ++p) {
      PipelineChoice pipeline;
      pipeline.micro_batches = combination.micro_batches[p];
      pipeline.batch = double(pipeline.micro_batches) * combination.micro_batch;
      for (const StageWay& stage : combination.pipelines[p]->stages)
        pipeline.stages.push_back({stage.first, stage.last, devices_of(stage.gpus), stage.tensor, {stage.recompute, 1}});
      pipelines.push_back(std::move(pipeline));
    }
    return plan_of(pipelines);
  }

  PlanOrInfeasible choose() {
    std::ranges::stable_sort(combinations_, {}, &Combination::estimate);
    std::map<std::tuple<int, std::size_t, std::size_t>, std::vector<std::pair<Seconds, Plan>>> groups;
    for (const Combination& combination : combinations_) {
      std::size_t stages = 0;
      for (const PipelineWay* way : combination.pipelines) stages += way->stages.size();
      auto& group = groups[{combination.micro_batch, combination.pipelines.size(), stages}];
      Plan plan = group.size() < kSecondRound ? plan_of_combination(combination) : Plan{};
      if (plan.phases.empty() || !plan.check(context_.cluster, context_.workload).empty()) continue;
      const Seconds estimate = estimate_step(plan, context_.cluster, context_.workload, router_).step_time;
      group.emplace_back(estimate, std::move(plan));
    }
    Finalists finalists(context_, router_, simulate_);
    for (auto& group : std::views::values(groups)) {
      std::ranges::stable_sort(group, {}, [](const auto& one) { return one.first; });
      for (std::size_t i = 0; i < std::min(kThirdRound, group.size()); ++i) finalists.add(std::move(group[i].second), group[i].first);
    }
    return finalists.choose("no cut of the layers fits the GPUs' memory", budget_.ran_out() || combining_.ran_out());
  }

  const PlanningContext& context_;
  Router router_;
  LayerCosts costs_;
  std::vector<DeviceId> gpus_;
  int layers_ = 0;
  Budget budget_, combining_;            ///< of ways to be a pipeline, and of combinations of pipelines
  int simulate_ = 1;
  int micro_batch_ = 1;
  std::map<std::pair<Mask, int>, std::optional<StageTable>> tables_;   // of micro_batch_
  std::map<int, std::map<Mask, std::vector<PipelineWay>>> ways_;       // [micro-batch]
  std::map<std::tuple<int, int, double>, Seconds> transfers_;
  std::map<std::tuple<int, Mask, int>, Seconds> fastest_;
  std::map<Mask, RingGroup> rings_;
  std::set<std::pair<std::string, Seconds>> found_;
  std::vector<Combination> combinations_;
};

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(const StrategyOptions& options)
      : budget_(budget_of(options.values, kBudget)), simulate_(simulate_of(options.values, kSimulate)) {}

  PlanOrInfeasible plan(const PlanningContext& context) override {
    const std::size_t gpus = context.cluster.gpus().size();
    const Module& module = context.workload.modules[index(context.workload.passes.front().module)];
    const auto layers = std::ranges::count(module.counted_layers(), true);
    if (gpus > kMostGpus || layers > kMostLayers)
      return Infeasible{fmt::format("exhaustive is for up to {} GPUs and {} layers; there are {} and {}", kMostGpus, kMostLayers, gpus, layers), {}, {}};
    return ExhaustiveSearch(context, budget_, simulate_).search();
  }

 private:
  Budget budget_;
  int simulate_;
};

const StrategyRegistrar registrar({
    .name = "exhaustive",
    .summary = "the best of all pipelines, stages, cuts, tensor sizes and recompute, for up to 6 GPUs and 8 layers",
    .paper = "none: the reference that planners are measured against",
    .options = schema::object({budget_option(kBudget), simulate_option(kSimulate)}, "options of exhaustive"),
    .simplified = {"the 1F1B formula ranks the space; of each micro-batch size, number of pipelines and number of stages the best 120 are ranked again with estimate_step, the best 10 of those may be simulated",
                   "ZeRO, offload, interleaved and split-backward schedules and layouts inside a stage are outside the space"},
    .reconstructed = {},
    .make = [](const StrategyOptions& options, Diagnostics&) { return std::make_unique<Exhaustive>(options); },
});

}  // namespace
}  // namespace trainyard
