#include "sim/lowering/state_moves.hpp"

#include <algorithm>
#include <map>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// Shares of a layer smaller than this are the rounding of their bounds.
constexpr double kNothing = 1e-12;

struct Interval {
  double from = 0, to = 1;
};

/// One copy of a part of a layer.
struct Copy {
  Site at;
  Interval share;
};

/// `all` without `taken`.
std::vector<Interval> without(const std::vector<Interval>& all, Interval taken) {
  std::vector<Interval> rest;
  for (const Interval& one : all) {
    const Interval before{one.from, std::min(one.to, taken.from)}, after{std::max(one.from, taken.to), one.to};
    if (before.to - before.from > kNothing) rest.push_back(before);
    if (after.to - after.from > kNothing) rest.push_back(after);
  }
  return rest;
}

double overlap(const std::vector<Interval>& all, Interval with) {
  double sum = 0;
  for (const Interval& one : all) sum += std::max(0.0, std::min(one.to, with.to) - std::max(one.from, with.from));
  return sum > kNothing ? sum : 0;
}

/// Collects moves, those between the same places as one.
class MoveList {
 public:
  void add(const Site& from, const Site& to, Bytes bytes, LayerId layer) {
    auto [at, is_new] = moves_.try_emplace({to, from}, StateMove{from, to, {}, layer, layer});
    at->second.bytes += bytes;
    at->second.first = std::min(at->second.first, layer);
    at->second.last = std::max(at->second.last, layer);
  }
  std::vector<StateMove> take() {
    std::vector<StateMove> all;
    for (auto& [places, move] : moves_) all.push_back(move);
    return all;
  }

 private:
  std::map<std::pair<Site, Site>, StateMove> moves_;
};

using PartKey = std::pair<StateKind, LayerId>;

class Fetching {
 public:
  Fetching(const Holdings& wanted, const StateCopies& now, const StateSizes& sizes, const Cluster& cluster)
      : wanted_(wanted), now_(now), sizes_(sizes), cluster_(cluster) {
    collect(now.devices, SiteKind::device);
    collect(now.hosts, SiteKind::host);
  }

  std::optional<std::vector<StateMove>> find() {
    for (std::size_t device = 0; device < wanted_.size(); ++device)
      for (const StatePart& part : wanted_[device])
        if (!fetch(id_at<DeviceId>(device), part)) return std::nullopt;
    return moves_.take();
  }

 private:
  void collect(const Holdings& held, SiteKind kind) {
    for (std::size_t device = 0; device < held.size(); ++device)
      for (const StatePart& part : held[device])
        copies_[{part.kind, part.layer}].push_back({{kind, id_at<DeviceId>(device)}, {part.from, part.to}});
  }

  bool fetch(DeviceId device, const StatePart& part) {
    std::vector<Interval> missing{{part.from, part.to}};
    if (!now_.devices.empty())
      for (const StatePart& own : now_.devices[index(device)])
        if (own.kind == part.kind && own.layer == part.layer) missing = without(missing, {own.from, own.to});
    while (!missing.empty()) {
      const Copy* best = nearest(device, part, missing);
      if (best == nullptr) break;
      take(best->at, device, part, overlap(missing, best->share));
      missing = without(missing, best->share);
    }
    if (missing.empty()) return true;
    if (now_.in_store) take({SiteKind::store, {}}, device, part, overlap(missing, {0, 1}));
    return now_.in_store;
  }

  void take(const Site& from, DeviceId device, const StatePart& part, double share) {
    const Bytes bytes = sizes_.of(part.layer, part.kind) * share;
    if (bytes.value <= 0) return;
    given_[from] += bytes;
    moves_.add(from, {SiteKind::device, device}, bytes, part.layer);
  }

  const Copy* nearest(DeviceId device, const StatePart& part, const std::vector<Interval>& missing) const {
    const auto copies = copies_.find({part.kind, part.layer});
    if (copies == copies_.end()) return nullptr;
    const Copy* best = nullptr;
    std::tuple<int, SiteKind, Bytes> least;
    for (const Copy& copy : copies->second) {
      if (overlap(missing, copy.share) == 0) continue;
      const auto given = given_.find(copy.at);
      const std::tuple rank{distance(copy.at, device), copy.at.kind, given == given_.end() ? Bytes(0) : given->second};
      if (best != nullptr && !(rank < least)) continue;
      best = &copy;
      least = rank;
    }
    return best;
  }

  int distance(const Site& from, DeviceId to) const {
    if (from.device == to) return 0;
    const NodeId a = cluster_.devices[index(from.device)].node, b = cluster_.devices[index(to)].node;
    if (a == b) return 1;
    const Node &near = cluster_.nodes[index(a)], &far = cluster_.nodes[index(b)];
    return near.region != far.region ? 4 : near.zone != far.zone ? 3 : 2;
  }

  const Holdings& wanted_;
  const StateCopies& now_;
  const StateSizes& sizes_;
  const Cluster& cluster_;
  std::map<PartKey, std::vector<Copy>> copies_;
  std::map<Site, Bytes> given_;
  MoveList moves_;
};

}  // namespace

std::optional<std::vector<StateMove>> moves_to(const Holdings& wanted, const StateCopies& now, const StateSizes& sizes,
                                              const Cluster& cluster) {
  require(now.devices.empty() || now.devices.size() == wanted.size(), "holdings of the same cluster");
  return Fetching(wanted, now, sizes, cluster).find();
}

std::vector<StateMove> moves_to_hosts(const Holdings& held, const StateSizes& sizes) {
  MoveList moves;
  for (std::size_t device = 0; device < held.size(); ++device)
    for (const StatePart& part : held[device])
      moves.add({SiteKind::device, id_at<DeviceId>(device)}, {SiteKind::host, id_at<DeviceId>(device)}, sizes.of(part), part.layer);
  return moves.take();
}

std::vector<StateMove> moves_to_store(const Holdings& held, SiteKind from, const StateSizes& sizes) {
  std::map<std::tuple<StateKind, LayerId, double, double>, std::vector<DeviceId>> holders;
  for (std::size_t device = 0; device < held.size(); ++device)
    for (const StatePart& part : held[device])
      holders[{part.kind, part.layer, part.from, part.to}].push_back(id_at<DeviceId>(device));
  std::map<PartKey, std::vector<Interval>> left;
  MoveList moves;
  for (const auto& [what, devices] : holders) {
    const auto& [kind, layer, begin, end] = what;
    std::vector<Interval>& missing = left.try_emplace({kind, layer}, std::vector<Interval>{{0, 1}}).first->second;
    const Bytes bytes = sizes.of(layer, kind) * overlap(missing, {begin, end});
    missing = without(missing, {begin, end});
    if (bytes.value <= 0) continue;
    for (const DeviceId device : devices) moves.add({from, device}, {SiteKind::store, {}}, bytes / double(devices.size()), layer);
  }
  return moves.take();
}

Bytes bytes_from(const std::vector<StateMove>& moves, SiteKind from) {
  Bytes sum{};
  for (const StateMove& move : moves)
    if (move.from.kind == from) sum += move.bytes;
  return sum;
}

}  // namespace trainyard
