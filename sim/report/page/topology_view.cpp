#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/report/numbers.hpp"
#include "sim/report/page/views.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostInTier = 12;
constexpr int kUnknown = -1;

/// A node or a switch between nodes, or all of a class of them.
struct Point {
  std::string name, what;
  int tier = kUnknown;
  std::size_t members = 1;
  double x = 0;
};

struct Wire {
  double bytes_per_s = 0;  ///< one way, of one member
  std::size_t links = 0;
};
using Wires = std::map<std::pair<std::size_t, std::size_t>, Wire>;  ///< from, to

bool between_nodes(const Cluster& cluster, std::size_t vertex) {
  return cluster.vertices[vertex].starts_with("fabric.");
}

/// [vertex]: its node, or what stands behind the nodes, one place a switch between nodes.
std::vector<std::size_t> places_of(const Cluster& cluster) {
  constexpr auto kNowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> place(cluster.vertices.size(), kNowhere);
  for (const Device& device : cluster.devices) place[index(device.vertex)] = index(device.node);
  std::size_t next = cluster.nodes.size();
  for (std::size_t v = 0; v < place.size(); ++v)
    if (place[v] == kNowhere && between_nodes(cluster, v)) place[v] = next++;
  for (bool found = true; found;) {  // switches inside nodes
    found = false;
    for (const Link& link : cluster.links) {
      const std::size_t from = index(link.from), to = index(link.to);
      if (place[from] >= cluster.nodes.size() || place[to] != kNowhere) continue;
      place[to] = place[from];
      found = true;
    }
  }
  for (std::size_t& where : place)
    if (where == kNowhere) where = next++;
  return place;
}

std::string devices_text(const Cluster& cluster, const Node& node) {
  std::map<std::string, int> gpus;
  int nics = 0;
  for (const DeviceId id : node.devices) {
    const Device& device = cluster.devices[index(id)];
    if (device.kind == DeviceKind::gpu) ++gpus[cluster.type_of(id).name];
    if (device.kind == DeviceKind::nic) ++nics;
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : gpus) parts.push_back(fmt::format("{} × {}", count, name));
  if (nics > 0) parts.push_back(fmt::format("{} NIC{}", nics, nics > 1 ? "s" : ""));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// `fabric.unit0.rail3` is a rail, `fabric.0-2` a router.
std::string kind_of(const std::string& name) {
  std::string word = name.substr(name.rfind('.') + 1);
  while (!word.empty() && word.find_last_of("0123456789-") == word.size() - 1) word.pop_back();
  return word.empty() ? "router" : word;
}

/// Points and wires, and which points are in the same place among them.
class Drawing {
 public:
  explicit Drawing(const Cluster& cluster) {
    add_points(cluster);
    find_tiers();
    refine();
    unite();
    place();
  }

  [[nodiscard]] Json json() const {
    Json points = Json::array(), lines = Json::array();
    std::map<std::size_t, std::size_t> shown;
    for (const std::size_t p : placed_) {
      shown[p] = points.size();
      const Point& point = points_[p];
      points.push_back({{"name", point.name},
                        {"what", point.what},
                        {"tier", point.tier},
                        {"members", point.members},
                        {"x", point.x}});
    }
    for (const auto& [ends, wire] : wires_)
      if (shown.contains(ends.first) && shown.contains(ends.second) && upwards(ends))
        lines.push_back({{"from", shown.at(ends.first)},
                         {"to", shown.at(ends.second)},
                         {"links", wire.links},
                         {"rate", to_text(BytesPerSecond(wire.bytes_per_s))}});
    return {{"points", points}, {"lines", lines}, {"left_out", left_out_}};
  }

 private:
  using Ends = std::pair<std::size_t, std::size_t>;

  void add_points(const Cluster& cluster) {
    const std::vector<std::size_t> place = places_of(cluster);
    points_.resize(place.empty() ? 0 : 1 + *std::ranges::max_element(place));
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n)
      points_[n] = {cluster.nodes[n].group, devices_text(cluster, cluster.nodes[n]), 0};
    for (std::size_t v = 0; v < place.size(); ++v)
      if (place[v] >= cluster.nodes.size())
        points_[place[v]] = {cluster.vertices[v], kind_of(cluster.vertices[v]), kUnknown};
    for (const Link& link : cluster.links) {
      const std::size_t from = place[index(link.from)], to = place[index(link.to)];
      if (from == to) continue;
      Wire& wire = wires_[{from, to}];
      wire.bytes_per_s += link.nominal.value;
      ++wire.links;
    }
  }

  /// Switches by their distance from nodes.
  void find_tiers() {
    for (int tier = 0; tier <= int(points_.size()); ++tier) {
      bool found = false;
      for (const auto& [ends, wire] : wires_)
        if (points_[ends.first].tier == tier && points_[ends.second].tier == kUnknown) {
          points_[ends.second].tier = tier + 1;
          found = true;
        }
      if (!found) break;
    }
    for (Point& point : points_) point.tier = std::max(point.tier, 0);
  }

  /// Classes: of equal points with equal wires to equal classes, until no more are told apart.
  void refine() {
    class_of_.assign(points_.size(), 0);
    for (std::size_t before = 0, classes = 1; classes > before && !points_.empty();) {
      std::vector<std::map<std::size_t, double>> rates(points_.size());
      for (const auto& [ends, wire] : wires_) rates[ends.first][class_of_[ends.second]] += wire.bytes_per_s;
      std::map<std::tuple<std::size_t, std::string, std::map<std::size_t, double>>, std::size_t> numbers;
      std::vector<std::size_t> finer(points_.size());
      for (std::size_t p = 0; p < points_.size(); ++p) {
        const std::string name = points_[p].tier == 0 ? points_[p].name + "\n" : "";
        finer[p] = numbers.try_emplace({class_of_[p], name + points_[p].what, rates[p]}, numbers.size()).first->second;
      }
      class_of_ = std::move(finer);
      before = classes;
      classes = numbers.size();
    }
  }

  /// The first of each class stands for all, with what it sends to each other class.
  void unite() {
    std::map<std::size_t, std::size_t> first;
    for (std::size_t p = 0; p < points_.size(); ++p) {
      const auto [found, fresh] = first.try_emplace(class_of_[p], p);
      if (fresh) continue;
      ++points_[found->second].members;
      points_[p].members = 0;
    }
    Wires united;
    for (const auto& [ends, wire] : wires_) {
      const std::size_t to = first.at(class_of_[ends.second]);
      if (points_[ends.first].members == 0 || to == ends.first) continue;
      Wire& sum = united[{ends.first, to}];
      sum.bytes_per_s += wire.bytes_per_s;
      sum.links += wire.links;
    }
    wires_ = std::move(united);
  }

  /// Tier by tier from left to right, switches over the middle of what they join.
  void place() {
    std::map<int, std::vector<std::size_t>> tiers;
    for (std::size_t p = 0; p < points_.size(); ++p)
      if (points_[p].members > 0) tiers[points_[p].tier].push_back(p);
    for (auto& [tier, members] : tiers) {
      if (tier > 0) std::ranges::stable_sort(members, {}, [&](std::size_t p) { return middle(p); });
      for (std::size_t i = kMostInTier; i < members.size(); ++i) left_out_ += points_[members[i]].members;
      members.resize(std::min(members.size(), kMostInTier));
      for (std::size_t i = 0; i < members.size(); ++i) {
        points_[members[i]].x = (double(i) + 0.5) / double(members.size());
        placed_.push_back(members[i]);
      }
    }
  }

  [[nodiscard]] double middle(std::size_t point) const {
    double sum = 0, count = 0;
    for (const auto& [ends, wire] : wires_)
      if (ends.first == point && points_[ends.second].tier < points_[point].tier) {
        sum += points_[ends.second].x;
        ++count;
      }
    return count > 0 ? sum / count : 0;
  }

  /// Each pair once: as the lower tier sees it.
  [[nodiscard]] bool upwards(const Ends& ends) const {
    const int from = points_[ends.first].tier, to = points_[ends.second].tier;
    return from < to || (from == to && ends.first < ends.second);
  }

  std::vector<Point> points_;  ///< nodes first; members 0: another of its class stands for it
  std::vector<std::size_t> class_of_;
  Wires wires_;
  std::vector<std::size_t> placed_;
  std::size_t left_out_ = 0;
};

}  // namespace

Json topology_view(const Cluster& cluster) { return Drawing(cluster).json(); }

}  // namespace trainyard
