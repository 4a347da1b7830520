#include "sim/planning/layer_balance.hpp"

#include <algorithm>
#include <limits>

#include "sim/cost/memory.hpp"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Times of all runs of layers on all stages; `kNever` where a run does not fit.
class RunTimes {
 public:
  explicit RunTimes(std::span<const StageLoad> stages) : layers_(int(stages.front().time.size())) {
    for (const StageLoad& stage : stages) {
      std::vector<double>& times = times_.emplace_back(std::size_t(layers_) * (layers_ + 1), kNever);
      for (int first = 0; first < layers_; ++first) fill(stage, first, times);
    }
  }
  [[nodiscard]] int layers() const { return layers_; }
  /// Layers [first, last), at least one.
  [[nodiscard]] double of(std::size_t stage, int first, int last) const { return times_[stage][at(first, last)]; }

 private:
  [[nodiscard]] std::size_t at(int first, int last) const { return std::size_t(first) * (layers_ + 1) + last; }

  void fill(const StageLoad& stage, int first, std::vector<double>& times) const {
    Seconds time = stage.transfer;
    Bytes held{}, transient{};
    for (int l = first; l < layers_; ++l) {
      time += stage.time[l];
      held += stage.states[l] + stage.kept[l] * stage.in_flight;
      transient = std::max(transient, stage.transient[l]);
      if (held + transient > stage.usable) return;
      times[at(first, l + 1)] = time.value;
    }
  }

  int layers_ = 0;
  std::vector<std::vector<double>> times_;   ///< [stage]
};

/// best[s][l]: the least of what `join` makes of the first s stages on the first l layers; `from` says where stage s - 1 begins.
struct Table {
  std::vector<std::vector<double>> best;
  std::vector<std::vector<int>> from;
};

template <class Join>
Table fill_table(const RunTimes& times, std::size_t stages, double limit, Join join) {
  const int layers = times.layers();
  Table table{{stages + 1, std::vector<double>(layers + 1, kNever)}, {stages + 1, std::vector<int>(layers + 1, -1)}};
  table.best[0][0] = 0;
  for (std::size_t s = 1; s <= stages; ++s)
    for (int last = int(s); last <= layers; ++last)
      for (int first = int(s) - 1; first < last; ++first) {
        const double run = times.of(s - 1, first, last);
        if (run > limit || table.best[s - 1][first] == kNever) continue;
        const double value = join(table.best[s - 1][first], run);
        if (value >= table.best[s][last]) continue;
        table.best[s][last] = value;
        table.from[s][last] = first;
      }
  return table;
}

std::vector<int> bounds_of(const Table& table) {
  std::vector<int> bounds(table.best.size());
  bounds.back() = int(table.best.front().size()) - 1;
  for (std::size_t s = bounds.size() - 1; s > 0; --s) bounds[s - 1] = table.from[s][bounds[s]];
  return bounds;
}

}  // namespace

StageLoad stage_load(LayerCosts& costs, const LayerQuestion& question, const StateSharing& sharing, const Workload& workload) {
  StageLoad load;
  LayerCut cut;
  cut.tensor = int(question.group.size());
  load.usable = Bytes(kNever);
  for (const DeviceId device : question.group) load.usable = std::min(load.usable, costs.usable_memory(device, cut.tensor));
  const std::vector<LayerCost>& layers = costs.of(question);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerId layer = id_at<LayerId>(l);
    load.time.push_back(layers[l].forward + layers[l].backward);
    const StaticMemory held = static_memory(costs.module(), std::span(&layer, 1), cut, workload, sharing.holders, sharing.zero);
    load.states.push_back(held.weights + held.gradients + held.optimizer);
    load.kept.push_back(layers[l].kept);
    load.transient.push_back(layers[l].transient + held.buffers);  // layers share buffers: the largest counts
  }
  return load;
}

Seconds stage_time(const StageLoad& stage, int first, int last) {
  Seconds time = stage.transfer;
  for (int l = first; l < last; ++l) time += stage.time[l];
  return time;
}

bool stage_fits(const StageLoad& stage, int first, int last) {
  Bytes held{}, transient{};
  for (int l = first; l < last; ++l) {
    held += stage.states[l] + stage.kept[l] * stage.in_flight;
    transient = std::max(transient, stage.transient[l]);
  }
  return held + transient <= stage.usable;
}

std::optional<BalancedCut> balance_layers(std::span<const StageLoad> stages) {
  if (stages.empty()) return std::nullopt;
  const RunTimes times(stages);
  if (times.layers() < int(stages.size())) return std::nullopt;
  const Table fastest = fill_table(times, stages.size(), kNever, [](double sofar, double run) { return std::max(sofar, run); });
  const double slowest = fastest.best.back().back();
  if (slowest == kNever) return std::nullopt;
  // Prefix sums differ from run to run by rounding, so the limit is not taken to the last bit.
  const Table shortest = fill_table(times, stages.size(), slowest * (1 + 1e-12), [](double sofar, double run) { return sofar + run; });
  return BalancedCut{bounds_of(shortest), Seconds(slowest), Seconds(shortest.best.back().back())};
}

}  // namespace trainyard
