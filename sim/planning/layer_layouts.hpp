// A layout for each layer of a stage, by dynamic programming under a memory budget: the search of Galvatron and Galvatron-BMW.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/planning/budget.hpp"
#include "sim/planning/layer_costs.hpp"
#include "sim/planning/link_times.hpp"

namespace trainyard {

/// One branch of the decision tree: tensor x data, the data ranks whole copies or shards (ZeRO 3).
struct LayerLayout {
  int tensor = 1, data = 1;
  bool sharded = false;
  bool tensor_inside = true;             ///< tensor ranks are neighbours; else data ranks
  RecomputeKind recompute = RecomputeKind::none;
  [[nodiscard]] Layout layout() const;
  friend bool operator==(const LayerLayout&, const LayerLayout&) = default;
};

struct LayoutQuestion {
  std::vector<DeviceId> devices;
  int first = 0, last = 0;               ///< layers
  int micro_batch = 1;                   ///< samples, over all devices
  int micro_batches = 1, in_flight = 1;
  double memory_share = 1;               ///< of what the devices can give to tensors
};

struct LayoutAnswer {
  std::vector<LayerLayout> layers;       ///< [layer - first]
  Seconds micro_batch{};                 ///< forward and backward passes with what passes between layouts
  Seconds exposed{};                     ///< exchange of gradients that no backward pass hides
  friend bool operator==(const LayoutAnswer&, const LayoutAnswer&) = default;
};

/// F[l][memory][s] = min over s' of F[l - 1][memory - M(l, s)][s'] + c(l, s) + R(s', s). Times from the simulation's cost functions;
/// gradients and backward passes that overlap slow each other by a factor of 1.2. Source: Miao et al., Galvatron, arXiv 2211.13878
/// §3.3-3.4 and its code (overlap_coe between 1.1 and 1.3).
class LayoutSearch {
 public:
  LayoutSearch(const Cluster& cluster, const Workload& workload, const Router& router, std::vector<RecomputeKind> recomputes);

  /// Nothing where no layouts fit, or the budget has ended.
  [[nodiscard]] std::optional<LayoutAnswer> best(const LayoutQuestion& question, Budget& budget);
  [[nodiscard]] LayerCosts& costs() { return costs_; }

 private:
  struct Priced {
    LayerLayout layout;
    std::vector<Seconds> pass, exposed;  ///< [layer of the module]
    std::vector<Bytes> states, kept, output;   ///< output: of the whole micro-batch
  };
  /// Devices are told apart by their kinds and nodes only.
  using GroupKey = std::vector<double>;
  [[nodiscard]] GroupKey key_of(const std::vector<DeviceId>& devices) const;
  [[nodiscard]] const std::vector<Priced>& priced(const LayoutQuestion& question);
  [[nodiscard]] std::vector<LayerLayout> layouts(int devices, int micro_batch) const;
  [[nodiscard]] Priced price(const LayerLayout& layout, const LayoutQuestion& question);
  [[nodiscard]] Bytes states_of(const LayerCost& cost, const LayerLayout& layout) const;
  [[nodiscard]] Seconds change_time(const std::vector<DeviceId>& devices, Bytes gathered) const;
  [[nodiscard]] std::optional<LayoutAnswer> solve(const std::vector<Priced>& options, const LayoutQuestion& question);

  const Cluster& cluster_;
  const Workload& workload_;
  const Router& router_;
  std::vector<RecomputeKind> recomputes_;
  LayerCosts costs_;
  std::map<std::pair<GroupKey, int>, std::vector<Priced>> priced_;        ///< [devices, micro-batch]
  std::map<std::tuple<GroupKey, int, int, int, int, int, double>, std::optional<LayoutAnswer>> known_;
};

/// A stage whose layers lie so, as the rules of a Plan.
[[nodiscard]] Stage stage_with_layouts(const std::vector<DeviceId>& devices, int first, const std::vector<LayerLayout>& layers);

}  // namespace trainyard
