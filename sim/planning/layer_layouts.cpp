#include "sim/planning/layer_layouts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/planning/device_groups.hpp"

namespace trainyard {
namespace {

constexpr int kMemorySteps = 256;
constexpr double kOverlapSlowdown = 1.2;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Two things at once, each slowed while the other runs.
Seconds overlapped(Seconds a, Seconds b) { return std::max(a, b) + std::min(a, b) * (kOverlapSlowdown - 1); }

/// Devices [rank, rank + stride, ..).
std::vector<DeviceId> axis_group(const std::vector<DeviceId>& devices, int rank, int stride, int count) {
  std::vector<DeviceId> group;
  for (int i = 0; i < count; ++i) group.push_back(devices[std::size_t(rank + i * stride)]);
  return group;
}

/// First members of all groups of an axis of `count` devices `stride` apart.
std::vector<int> group_starts(int devices, int stride, int count) {
  std::vector<int> starts;
  for (int rank = 0; rank < devices; ++rank)
    if (rank / stride % count == 0) starts.push_back(rank);
  return starts;
}

int tensor_stride(const LayerLayout& layout) { return layout.tensor_inside ? 1 : layout.data; }
int data_stride(const LayerLayout& layout) { return layout.tensor_inside ? layout.tensor : 1; }

/// The table of the dynamic program, one layer after the other. Where samples lie alike nothing moves, so that the layer before
/// matters only through the places of its samples: a class of layouts.
class LayoutTable {
 public:
  LayoutTable(std::size_t options, std::size_t classes) : options_(options), classes_(classes), best_(kWidth * options, 0) {}

  /// needs: [option] memory steps; own: [option] time; change: [class before][class].
  void add_layer(const std::vector<int>& needs, const std::vector<double>& own, const std::vector<int>& class_of,
                 const std::vector<std::vector<double>>& change) {
    const bool first = from_.empty();
    std::vector<std::int16_t> leader(kWidth * classes_, -1);
    for (std::size_t memory = 0; memory < kWidth; ++memory)
      for (std::size_t s = 0; s < options_; ++s)
        if (auto& best = leader[memory * classes_ + std::size_t(class_of[s])]; best < 0 || at(memory, s) < at(memory, std::size_t(best))) best = std::int16_t(s);
    std::vector<double> next(kWidth * options_, kNever);
    from_.emplace_back(kWidth * options_, std::int16_t(-1));
    for (std::size_t s = 0; s < options_; ++s)
      for (std::size_t memory = std::size_t(needs[s]); memory < kWidth; ++memory)
        for (std::size_t c = 0; c < classes_; ++c) {
          const std::size_t before = std::size_t(leader[(memory - std::size_t(needs[s])) * classes_ + c]);
          const double time = at(memory - std::size_t(needs[s]), before) + own[s] + (first ? 0 : change[c][std::size_t(class_of[s])]);
          if (time >= next[memory * options_ + s]) continue;
          next[memory * options_ + s] = time;
          from_.back()[memory * options_ + s] = std::int16_t(before);
        }
    needs_.push_back(needs);
    best_ = std::move(next);
  }

  /// The options of all layers in order, with all of the memory; nothing where none fits.
  [[nodiscard]] std::optional<std::vector<int>> choices() const {
    const auto last = std::min_element(best_.end() - std::ptrdiff_t(options_), best_.end());
    if (*last == kNever) return std::nullopt;
    std::vector<int> chosen(from_.size());
    std::size_t memory = kWidth - 1, s = std::size_t(last - (best_.end() - std::ptrdiff_t(options_)));
    for (std::size_t l = from_.size(); l-- > 0;) {
      chosen[l] = int(s);
      const std::size_t before = std::size_t(from_[l][memory * options_ + s]);
      memory -= std::size_t(needs_[l][s]);
      s = before;
    }
    return chosen;
  }

 private:
  static constexpr std::size_t kWidth = kMemorySteps + 1;
  [[nodiscard]] double at(std::size_t memory, std::size_t option) const { return best_[memory * options_ + option]; }

  std::size_t options_, classes_;
  std::vector<double> best_;                              ///< [memory used][layout of the layer before]
  std::vector<std::vector<std::int16_t>> from_;           ///< [layer]: the option before
  std::vector<std::vector<int>> needs_;                   ///< [layer][option]
};

/// Where samples lie: equal for layouts between which nothing moves.
std::pair<int, bool> sample_places(const LayerLayout& layout) {
  return {layout.data, layout.tensor_inside || layout.data == 1 || layout.tensor == 1};
}

}  // namespace

Layout LayerLayout::layout() const {
  Layout axes;
  const auto add_data = [&] {
    if (data > 1 || tensor == 1) axes.push_back(equal_axis(sharded ? AxisKind::shard : AxisKind::data, data));
  };
  if (tensor_inside) add_data();
  if (tensor > 1) axes.push_back(equal_axis(AxisKind::tensor, tensor));
  if (!tensor_inside) add_data();
  return axes;
}

LayoutSearch::LayoutSearch(const Cluster& cluster, const Workload& workload, const Router& router, std::vector<RecomputeKind> recomputes)
    : cluster_(cluster), workload_(workload), router_(router), recomputes_(std::move(recomputes)), costs_(cluster, workload, router) {}

std::optional<LayoutAnswer> LayoutSearch::best(const LayoutQuestion& question, Budget& budget) {
  const auto key = std::tuple(key_of(question.devices), question.first, question.last, question.micro_batch, question.micro_batches,
                              question.in_flight, question.memory_share);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const std::vector<Priced>& options = priced(question);
  if (!budget.take(std::int64_t(question.last - question.first) * std::int64_t(options.size()))) return std::nullopt;
  return known_.emplace(key, options.empty() ? std::nullopt : solve(options, question)).first->second;
}

LayoutSearch::GroupKey LayoutSearch::key_of(const std::vector<DeviceId>& devices) const {
  GroupKey key;
  std::map<NodeId, int> nodes;
  for (const DeviceId id : devices) {
    const Device& device = cluster_.devices[index(id)];
    key.insert(key.end(), {double(index(device.type)), device.slowdown, double(nodes.try_emplace(device.node, int(nodes.size())).first->second)});
  }
  const RingGroup ring = ring_group(router_, cluster_, devices);
  key.insert(key.end(), {ring.shape.ring_rate.value, ring.shape.hop_latency.value});
  return key;
}

std::vector<LayerLayout> LayoutSearch::layouts(int devices, int micro_batch) const {
  std::vector<LayerLayout> all;
  for (int tensor = 1; tensor <= devices; tensor *= 2) {
    const int data = devices / tensor;
    if (data * tensor != devices || micro_batch % data != 0 || !divides_heads(costs_.module(), tensor)) continue;
    for (const bool sharded : {false, true})
      for (const bool inside : {true, false})
        for (const RecomputeKind recompute : recomputes_)
          if ((data > 1 || (!sharded && inside)) && (tensor > 1 || inside)) all.push_back({tensor, data, sharded, inside, recompute});
  }
  return all;
}

const std::vector<LayoutSearch::Priced>& LayoutSearch::priced(const LayoutQuestion& question) {
  const auto [known, is_new] = priced_.try_emplace({key_of(question.devices), question.micro_batch});
  if (is_new)
    for (const LayerLayout& layout : layouts(int(question.devices.size()), question.micro_batch)) known->second.push_back(price(layout, question));
  return known->second;
}

LayoutSearch::Priced LayoutSearch::price(const LayerLayout& layout, const LayoutQuestion& question) {
  const int devices = int(question.devices.size());
  const std::vector<DeviceId> data_group = axis_group(question.devices, 0, data_stride(layout), layout.data);
  const RingGroup data_ring = ring_group(router_, cluster_, data_group);
  Priced priced;
  priced.layout = layout;
  std::vector<Seconds> forward, backward;
  for (const int start : group_starts(devices, tensor_stride(layout), layout.tensor)) {
    const auto& costs = costs_.of({axis_group(question.devices, start, tensor_stride(layout), layout.tensor), double(question.micro_batch) / layout.data, layout.recompute});
    forward.resize(costs.size());
    backward.resize(costs.size());
    priced.kept.resize(costs.size());
    for (std::size_t l = 0; l < costs.size(); ++l) {
      forward[l] = std::max(forward[l], costs[l].forward);
      backward[l] = std::max(backward[l], costs[l].backward);
      priced.kept[l] = std::max(priced.kept[l], costs[l].kept);
    }
    if (start == 0)
      for (const LayerCost& cost : costs) {
        const Seconds gather = layout.sharded ? collective_time(data_ring, CollectiveKind::all_gather, cost.weights) : Seconds(0);
        const Seconds reduce = collective_time(data_ring, layout.sharded ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, cost.gradients);
        priced.pass.push_back(gather);
        priced.exposed.push_back(reduce);
        priced.states.push_back(states_of(cost, layout));
        priced.output.push_back(cost.output * double(layout.data));
      }
  }
  for (std::size_t l = 0; l < forward.size(); ++l) {
    const Seconds gather = priced.pass[l], reduce = priced.exposed[l];
    priced.pass[l] = layout.sharded ? overlapped(forward[l], gather) + overlapped(backward[l], gather + reduce) : forward[l] + backward[l];
    priced.exposed[l] = layout.sharded ? Seconds(0) : overlapped(backward[l], reduce) - backward[l];
  }
  return priced;
}

Bytes LayoutSearch::states_of(const LayerCost& cost, const LayerLayout& layout) const {
  if (layout.sharded) return cost.states / double(layout.data);
  return workload_.software.distributed_optimizer ? cost.states - cost.optimizer * (1 - 1.0 / layout.data) : cost.states;
}

/// Slice and gather: where the data axis shrinks, the next layer's ranks gather what they lack, on the way there or back; equal sizes in
/// another order exchange as much.
Seconds LayoutSearch::change_time(const std::vector<DeviceId>& devices, Bytes gathered) const {
  return collective_time(ring_group(router_, cluster_, devices), CollectiveKind::all_gather, gathered);
}

std::optional<LayoutAnswer> LayoutSearch::solve(const std::vector<Priced>& options, const LayoutQuestion& question) {
  Bytes usable(kNever);
  for (const DeviceId device : question.devices) usable = std::min(usable, costs_.usable_memory(device, 1));
  const Bytes step = usable * (question.memory_share / kMemorySteps);
  std::vector<std::pair<int, bool>> places;
  std::vector<int> class_of;
  for (const Priced& option : options) {
    if (std::ranges::find(places, sample_places(option.layout)) == places.end()) places.push_back(sample_places(option.layout));
    class_of.push_back(int(std::ranges::find(places, sample_places(option.layout)) - places.begin()));
  }
  const Bytes samples = options.front().output[std::size_t(question.first)];
  std::vector<std::vector<double>> change(places.size());
  for (std::size_t from = 0; from < places.size(); ++from)
    for (std::size_t to = 0; to < places.size(); ++to)
      change[from].push_back(from == to ? 0 : change_time(question.devices, samples / double(std::min(places[from].first, places[to].first))).value * question.micro_batches);
  LayoutTable table(options.size(), places.size());
  for (int layer = question.first; layer < question.last; ++layer) {
    std::vector<int> needs;
    std::vector<double> own;
    for (const Priced& option : options) {
      const Bytes bytes = option.states[layer] + option.kept[layer] * double(question.in_flight);
      needs.push_back(int(std::min(kMemorySteps + 1.0, std::round(bytes / step))));
      own.push_back((option.pass[layer] * double(question.micro_batches) + option.exposed[layer]).value);
    }
    table.add_layer(needs, own, class_of, change);
  }
  const std::optional<std::vector<int>> chosen = table.choices();
  if (!chosen) return std::nullopt;
  LayoutAnswer answer;
  for (std::size_t l = 0; l < chosen->size(); ++l) {
    const Priced& option = options[std::size_t((*chosen)[l])];
    answer.layers.push_back(option.layout);
    answer.micro_batch += option.pass[std::size_t(question.first) + l];
    answer.exposed += option.exposed[std::size_t(question.first) + l];
    if (l > 0) answer.micro_batch += Seconds(change[std::size_t(class_of[std::size_t((*chosen)[l - 1])])][std::size_t(class_of[std::size_t((*chosen)[l])])] / question.micro_batches);
  }
  return answer;
}

Stage stage_with_layouts(const std::vector<DeviceId>& devices, int first, const std::vector<LayerLayout>& layers) {
  Stage stage;
  stage.devices = devices;
  stage.chunks.emplace_back();
  const LayerLayout* before = nullptr;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerId layer = id_at<LayerId>(std::size_t(first) + l);
    stage.chunks[0].push_back(layer);
    if (!before || *before != layers[l]) {
      Rule rule;
      rule.settings.layout = layers[l].layout();
      rule.settings.recompute = Recompute{layers[l].recompute, 1};
      if (layers[l].sharded) rule.settings.zero = 3;
      stage.rules.push_back(std::move(rule));
    }
    stage.rules.back().layers.push_back(layer);
    before = &layers[l];
  }
  if (stage.rules.size() == 1) stage.rules[0].layers.clear();
  return stage;
}

}  // namespace trainyard
