#include "sim/cost/resharding.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/cost/measured_layer.hpp"
#include "sim/model/whole_shares.hpp"

namespace trainyard {
namespace {

/// Samples and positions that a device holds, counted in common parts of both layouts.
struct Tile {
  int first_sample = 0, samples = 0, first_position = 0, positions = 0;
  friend auto operator<=>(const Tile&, const Tile&) = default;
  [[nodiscard]] double size() const { return double(samples) * positions; }
};

double common(const Tile& a, const Tile& b) {
  const auto overlap = [](int from, int size, int other, int other_size) {
    return std::max(0, std::min(from + size, other + other_size) - std::max(from, other));
  };
  return double(overlap(a.first_sample, a.samples, b.first_sample, b.samples)) *
         overlap(a.first_position, a.positions, b.first_position, b.positions);
}

int position_parts(const LayerCut& cut) { return cut.context * (cut.sequence_parallel ? cut.tensor : 1); }

/// Of a micro-batch where one of the roles has unequal shares of them, which are whole; else 1.
int unequal_samples(const StageRole& a, const StageRole& b) {
  const std::vector<int>& samples = a.samples.empty() ? b.samples : a.samples;
  return std::max(1, std::accumulate(samples.begin(), samples.end(), 0));
}

/// One direction of a change of layout.
class Change {
 public:
  Change(const Placement& placement, int from, int to) : placement_(placement) {
    samples_ = std::lcm(placement.data_size[from], placement.data_size[to]) * unequal_samples(placement.roles[from], placement.roles[to]);
    positions_ = std::lcm(position_parts(placement.roles[from].cut), position_parts(placement.roles[to].cut));
    held_ = tiles(from);
    needed_ = tiles(to);
    for (const auto& [device, tile] : held_) holders_[tile].push_back(device);
    for (const auto& [device, tile] : held_) group_[device] = device;
    for (const auto& [device, tile] : held_) fetch(device, tile);
  }

  std::vector<Resharding> exchanges() {
    std::map<DeviceId, std::vector<DeviceId>> groups;
    for (const auto& [device, tile] : held_) groups[root(device)].push_back(device);
    std::vector<Resharding> all;
    for (auto& [first, members] : groups)
      if (members.size() > 1) all.push_back(exchange(std::move(members)));
    return all;
  }

 private:
  std::map<DeviceId, Tile> tiles(int role) const {
    const LayerCut& cut = placement_.roles[role].cut;
    const std::vector<int>& unequal = placement_.roles[role].samples;
    const int unit = unequal.empty() ? 1 : samples_ / std::accumulate(unequal.begin(), unequal.end(), 0);
    const int positions = positions_ / position_parts(cut);
    std::map<DeviceId, Tile> tiles;
    int first = 0;
    for (int rank = 0; rank < placement_.data_size[role]; ++rank) {
      const int samples = unequal.empty() ? samples_ / placement_.data_size[role] : unequal[rank] * unit;
      const auto& members = placement_.cells[placement_.first_cell[role] + rank].members;
      for (int m = 0; m < int(members.size()); ++m) {
        const int part = cut.sequence_parallel ? m : m / cut.tensor;
        tiles[members[m]] = {first, samples, part * positions, positions};
      }
      first += samples;
    }
    return tiles;
  }

  /// Holders of equal parts take turns in serving those who need them.
  void fetch(DeviceId device, const Tile& own) {
    const auto& alike = holders_.at(own);
    const std::size_t turn = std::size_t(std::ranges::find(alike, device) - alike.begin());
    for (const auto& [tile, holders] : holders_) {
      const double size = common(tile, needed_.at(device));
      if (size == 0 || tile == own) continue;
      const DeviceId source = holders[turn % holders.size()];
      received_[device] += size;
      sent_[source] += size;
      if (size == tile.size()) ++whole_[device];
      group_[root(source)] = root(device);
    }
  }

  DeviceId root(DeviceId device) {
    while (group_.at(device) != device) device = group_.at(device);
    return device;
  }

  Resharding exchange(std::vector<DeviceId> members) {
    const double all = double(samples_) * positions_, count = double(members.size());
    double held = 0, busiest = 0;
    bool gathers = true;
    for (const DeviceId member : members) {
      held += held_.at(member).size();
      busiest = std::max({busiest, received_[member], sent_[member]});
      gathers = gathers && whole_[member] + 1 == int(members.size());
    }
    if (gathers) {
      std::vector<double> parts;
      for (const DeviceId member : members) parts.push_back(held_.at(member).size() / all);
      if (!are_unequal(parts)) parts.clear();
      return {std::move(members), CollectiveKind::all_gather, held / all, std::move(parts)};
    }
    return {std::move(members), CollectiveKind::all_to_all, busiest * count / (count - 1) / all, {}};
  }

  const Placement& placement_;
  int samples_ = 1, positions_ = 1;
  std::map<DeviceId, Tile> held_, needed_;
  std::map<Tile, std::vector<DeviceId>> holders_;
  std::map<DeviceId, DeviceId> group_;             ///< towards the device that stands for all who exchange
  std::map<DeviceId, double> received_, sent_;
  std::map<DeviceId, int> whole_;                  ///< parts of others that a device fetches whole
};

}  // namespace

std::vector<Resharding> resharding(const Placement& placement, int from, int to) { return Change(placement, from, to).exchanges(); }

Bytes micro_batch_activations(const Placement& placement, int from, int to, DataType precision) {
  const LayerCut& cut = placement.roles[from].cut;
  if (only_measured(*placement.module))
    return measured_crossing(*placement.module, placement.roles[std::min(from, to)].layers.back()) * (cut.sequences * placement.data_size[from]);
  const StageRole& earlier = placement.roles[std::min(from, to)];
  if (!earlier.seen.empty()) {
    return element_size(precision) * (earlier.crossing_elements(*placement.module, earlier.layers.back()) * earlier.cut.context * placement.data_size[std::min(from, to)]);
  }
  return element_size(precision) * (cut.sequences * cut.context * placement.data_size[from] * cut.tokens * placement.module->hidden);
}

}  // namespace trainyard
