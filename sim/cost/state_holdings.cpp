#include "sim/cost/state_holdings.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "sim/cost/memory.hpp"

namespace trainyard {
namespace {

/// One that holds a layer: a context rank of a cell, with all its tensor ranks.
struct Holder {
  int cell = 0, context = 0;
};

class HoldingsOfPlan {
 public:
  HoldingsOfPlan(const Plan& plan, const Workload& workload, std::size_t devices)
      : placement_(place(plan, workload)), holders_(placement_.module->layers.size()), held_(devices) {}

  Holdings find() {
    for (std::size_t cell = 0; cell < placement_.cells.size(); ++cell)
      for (const LayerId layer : placement_.role(int(cell)).layers)
        for (int context = 0; context < placement_.role(int(cell)).cut.context; ++context)
          holders_[index(layer)].push_back({int(cell), context});
    for (std::size_t layer = 0; layer < holders_.size(); ++layer) add_layer(id_at<LayerId>(layer));
    for (std::vector<StatePart>& parts : held_)
      std::ranges::sort(parts, {}, [](const StatePart& part) { return std::tuple(part.kind, part.layer, part.from); });
    return std::move(held_);
  }

 private:
  void add_layer(LayerId layer) {
    const std::vector<Holder>& holders = holders_[index(layer)];
    int slices = 1;
    for (const Holder& holder : holders) slices = std::lcm(slices, placement_.role(holder.cell).cut.tensor);
    for (std::size_t i = 0; i < holders.size(); ++i) {
      const StageRole& role = placement_.role(holders[i].cell);
      const int shard = placement_.cells[holders[i].cell].data_rank % role.shards;
      const Cut alone{0, 1}, among_holders{int(i), int(holders.size())}, among_shards{shard, role.shards};
      add(holders[i], {layer, StateKind::weights}, slices, role.zero == 3 ? among_shards : alone);
      add(holders[i], {layer, StateKind::optimizer}, slices, role.zero == 3 ? among_shards : role.zero >= 1 ? among_holders : alone);
    }
  }

  /// Number `part` of `parts` equal ones.
  struct Cut {
    int part = 0, parts = 1;
  };

  /// Its cut of every slice; neighbouring slices that are whole are one part.
  void add(const Holder& holder, StatePart what, int slices, const Cut& cut) {
    const int tensor = placement_.role(holder.cell).cut.tensor, each = cut.parts == 1 ? slices / tensor : 1;
    const double size = double(each) / slices;
    for (int rank = 0; rank < tensor; ++rank)
      for (int slice = rank * (slices / tensor); slice < (rank + 1) * (slices / tensor); slice += each) {
        what.from = double(slice) / slices + size * cut.part / cut.parts;
        what.to = double(slice) / slices + size * (cut.part + 1) / cut.parts;
        held_[index(placement_.cells[holder.cell].members[std::size_t(holder.context * tensor + rank)])].push_back(what);
      }
  }

  Placement placement_;
  std::vector<std::vector<Holder>> holders_;  ///< [layer]
  Holdings held_;
};

}  // namespace

Holdings holdings_of(const Plan& plan, const Workload& workload, std::size_t devices) {
  return HoldingsOfPlan(plan, workload, devices).find();
}

StateSizes::StateSizes(const Workload& workload) {
  const Module& module = workload.modules[index(workload.passes.front().module)];
  for (std::size_t i = 0; i < module.layers.size(); ++i) {
    const LayerId layer = id_at<LayerId>(i);
    const StaticMemory whole = static_memory(module, std::span(&layer, 1), LayerCut{}, workload, 1, 0);
    weights_.push_back(whole.weights);
    optimizer_.push_back(whole.optimizer);
  }
}

Bytes StateSizes::of(const std::vector<StatePart>& parts) const {
  Bytes sum{};
  for (const StatePart& part : parts) sum += of(part);
  return sum;
}

Bytes StateSizes::total() const {
  return std::accumulate(weights_.begin(), weights_.end(), Bytes(0)) + std::accumulate(optimizer_.begin(), optimizer_.end(), Bytes(0));
}

}  // namespace trainyard
