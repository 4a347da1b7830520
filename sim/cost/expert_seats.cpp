#include "sim/cost/expert_seats.hpp"

#include <algorithm>
#include <numeric>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Items of each rank: the owners that the Plan names, else neighbours, equally many.
std::vector<std::vector<int>> owners_of(const Settings& settings, int items, int ranks) {
  if (!settings.owners.empty()) return settings.owners;
  std::vector<std::vector<int>> owners(ranks);
  int next = 0;
  for (int rank = 0; rank < ranks; ++rank)
    for (int left = items / ranks + (rank < items % ranks ? 1 : 0); left > 0; --left) owners[rank].push_back(next++);
  return owners;
}

/// Tokens of one item over the mean.
double load_of(double share, int items, const ItemRouting& routing) {
  if (routing.capacity > 0 && routing.padded) return routing.capacity;
  return routing.capacity > 0 ? std::min(share * items, routing.capacity) : share * items;
}

std::vector<double> loads_of(const std::vector<std::vector<int>>& owners, const std::vector<double>& shares, int items, const ItemRouting& routing) {
  std::vector<double> loads;
  for (const std::vector<int>& own : owners) {
    double sum = 0;
    for (const int item : own) sum += load_of(shares.empty() ? 1.0 / items : shares.at(item), items, routing);
    loads.push_back(sum * double(owners.size()) / items);
  }
  return loads;
}

}  // namespace

int items_of(const LayerType& layer) {
  int most = 1;
  for (const Operator& op : layer.operators) most = std::max(most, op.items);
  return most;
}

bool has_experts(const LayerType& layer) { return items_of(layer) > 1; }

ExpertSeat seat_of(const Layout& experts, int device) {
  ExpertSeat seat;
  int stride = 1;
  for (auto axis = experts.rbegin(); axis != experts.rend(); ++axis) {
    const int at = device % axis->size();
    device /= axis->size();
    if (axis->kind == AxisKind::items) {
      seat.rank = at;
    } else if (axis->kind == AxisKind::tensor) {
      seat.slice = at;
    } else {
      seat.replica += at * stride;
      stride *= axis->size();
    }
  }
  return seat;
}

void seat_experts(StageRole& role, const Stage& stage, const Module& module, const Workload& workload) {
  const auto type_of = [&](LayerId layer) -> const LayerType& { return module.types[index(module.layers[index(layer)].type)]; };
  const auto first = std::ranges::find_if(role.layers, [&](LayerId layer) { return has_experts(type_of(layer)); });
  if (first == role.layers.end()) return;
  const Settings settings = settings_of(stage, *first, workload, "experts");
  const int items = items_of(type_of(*first));
  ExpertCut& cut = role.cut.experts;
  cut.ranks = axis_size(*settings.layout, AxisKind::items);
  cut.tensor = axis_size(*settings.layout, AxisKind::tensor);
  cut.apart = cut.ranks > 1 || cut.tensor != role.cut.tensor;
  cut.nodes = workload.data.routing.nodes;
  const std::vector<std::vector<int>> owners = owners_of(settings, items, cut.ranks);
  for (const auto& own : owners) role.items.push_back(double(own.size()));
  cut.items = std::ranges::max(role.items);
  for (const LayerId layer : role.layers) {
    role.loads.emplace_back();
    if (!has_experts(type_of(layer))) continue;
    const std::vector<std::vector<double>>& shares = workload.data.item_load;
    role.loads.back() = loads_of(owners, index(layer) < shares.size() ? shares[index(layer)] : std::vector<double>{}, items, workload.data.routing);
  }
}

double expert_imbalance(const Placement& placement) {
  double worst = 0;
  for (const StageRole& role : placement.roles)
    for (const std::vector<double>& loads : role.loads)
      if (!loads.empty())
        worst = std::max(worst, std::ranges::max(loads) * double(loads.size()) / std::accumulate(loads.begin(), loads.end(), 0.0));
  return worst;
}

}  // namespace trainyard
