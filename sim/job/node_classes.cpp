#include "sim/job/node_classes.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "sim/job/subset.hpp"
#include "sim/lowering/scramble.hpp"

namespace trainyard {
namespace {

std::uint64_t add_to(std::uint64_t hash, std::uint64_t value) { return scramble(hash ^ scramble(value)); }
std::uint64_t add_to(std::uint64_t hash, double value) { return add_to(hash, std::bit_cast<std::uint64_t>(value)); }

std::uint64_t hash_of(std::vector<std::uint64_t> values) {
  std::ranges::sort(values);
  std::uint64_t hash = values.size();
  for (const std::uint64_t value : values) hash = add_to(hash, value);
  return hash;
}

std::uint64_t hash_of(const Link& link) {
  return add_to(add_to(add_to(scramble(index(link.transport)), link.bandwidth.value), link.latency.value), std::uint64_t(1));
}

/// What a node looks like: its devices and inner links, and its links to shared switches with these named (`exact`) or not.
struct NodeShape {
  std::vector<std::uint64_t> inside, exact, outside;
  std::vector<std::pair<int, std::uint64_t>> shared;  ///< switch and link
};

/// Numbers vertices of a node from its first, which stands at the same place in alike nodes.
std::vector<NodeShape> shapes_of(const Cluster& cluster, const std::vector<int>& owner) {
  std::vector<NodeShape> shapes(cluster.nodes.size());
  std::vector<int> first(cluster.nodes.size(), -1);
  for (std::size_t v = 0; v < owner.size(); ++v)
    if (owner[v] >= 0 && first[std::size_t(owner[v])] < 0) first[std::size_t(owner[v])] = int(v);
  const auto local = [&](VertexId vertex) { return std::uint64_t(int(vertex) - first[std::size_t(owner[index(vertex)])]); };
  for (const Device& device : cluster.devices) {
    const std::uint64_t what = add_to(add_to(scramble(index(device.type)), device.slowdown), device.memory.value);
    shapes[index(device.node)].inside.push_back(add_to(add_to(what, std::uint64_t(device.kind)), local(device.vertex)));
  }
  for (const Link& link : cluster.links) {
    const int from = owner[index(link.from)], to = owner[index(link.to)];
    if (from >= 0 && from == to) shapes[std::size_t(from)].inside.push_back(add_to(add_to(hash_of(link), local(link.from)), local(link.to)));
    if ((from < 0) == (to < 0)) continue;
    const bool out = from >= 0;
    const VertexId mine = out ? link.from : link.to, other = out ? link.to : link.from;
    NodeShape& shape = shapes[std::size_t(out ? from : to)];
    const std::uint64_t like = add_to(add_to(hash_of(link), local(mine)), std::uint64_t(out));
    shape.outside.push_back(like);
    shape.exact.push_back(add_to(like, std::uint64_t(index(other))));
    shape.shared.emplace_back(int(other), like);
  }
  return shapes;
}

}  // namespace

NodeClasses::NodeClasses(const Cluster& cluster) {
  const std::vector<int> owner = owners_of_vertices(cluster);
  std::vector<NodeShape> shapes = shapes_of(cluster, owner);
  std::map<std::string, int> groups;
  std::map<std::tuple<int, std::uint64_t, std::uint64_t>, int> classes;
  std::vector<std::vector<std::pair<int, std::uint64_t>>> shared;
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    const int group = groups.try_emplace(cluster.nodes[n].group, int(groups.size())).first->second;
    const auto [at, is_new] = classes.try_emplace({group, hash_of(shapes[n].inside), hash_of(shapes[n].exact)}, int(classes.size()));
    class_of_.push_back(at->second);
    if (!is_new) continue;
    group_of_class_.push_back(group);
    shapes_.push_back(add_to(add_to(hash_of(shapes[n].inside), hash_of(shapes[n].outside)), std::uint64_t(group)));
    shared.push_back(std::move(shapes[n].shared));
  }
  neighbours_.resize(shapes_.size());
  std::vector<int> vertex_of(owner.size(), -1);  // of shared switches, in the graph
  for (std::size_t v = 0; v < owner.size(); ++v) {
    if (owner[v] >= 0) continue;
    vertex_of[v] = int(neighbours_.size());
    neighbours_.emplace_back();
  }
  for (std::size_t c = 0; c < shapes_.size(); ++c)
    for (const auto& [vertex, like] : shared[c]) join(int(c), vertex_of[std::size_t(vertex)], like);
  for (const Link& link : cluster.links)
    if (owner[index(link.from)] < 0 && owner[index(link.to)] < 0)
      join(vertex_of[index(link.from)], vertex_of[index(link.to)], hash_of(link));
}

void NodeClasses::join(int from, int to, std::uint64_t like) {
  neighbours_[std::size_t(from)].push_back({to, like});
  neighbours_[std::size_t(to)].push_back({from, add_to(like, std::uint64_t(7))});
}

/// A class of which nobody is there is no neighbour.
std::uint64_t NodeClasses::mixed(std::size_t vertex, const std::vector<std::uint64_t>& colour, const std::vector<int>& counts) const {
  std::vector<std::uint64_t> around;
  for (const Neighbour& other : neighbours_[vertex])
    if (std::size_t(other.vertex) >= counts.size() || counts[std::size_t(other.vertex)] > 0)
      around.push_back(add_to(other.like, colour[std::size_t(other.vertex)]));
  return add_to(colour[vertex], hash_of(std::move(around)));
}

const NodeClasses::Colours& NodeClasses::colours(const std::vector<int>& counts) const {
  const auto [known, is_new] = known_.try_emplace(counts);
  if (!is_new) return known->second;
  std::vector<std::uint64_t> colour(neighbours_.size(), 1);
  for (std::size_t c = 0; c < shapes_.size(); ++c) colour[c] = add_to(shapes_[c], std::uint64_t(counts[c]));
  for (std::size_t kinds = 0;;) {
    std::vector<std::uint64_t> next(colour.size());
    for (std::size_t v = 0; v < colour.size(); ++v) next[v] = mixed(v, colour, counts);
    colour = std::move(next);
    const std::size_t now = std::set<std::uint64_t>(colour.begin(), colour.end()).size();
    if (now == kinds) break;
    kinds = now;
  }
  std::vector<std::uint64_t> all;
  for (std::size_t c = 0; c < shapes_.size(); ++c)
    if (counts[c] > 0) all.push_back(colour[c]);
  known->second = {hash_of(std::move(all)), {colour.begin(), colour.begin() + std::ptrdiff_t(shapes_.size())}};
  return known->second;
}

Arrangement NodeClasses::arrange(const std::vector<NodeId>& there) const {
  std::vector<int> counts(shapes_.size(), 0);
  for (const NodeId node : there) ++counts[std::size_t(class_of(node))];
  const Colours& found = colours(counts);
  Arrangement arrangement{found.key, there};
  std::ranges::sort(arrangement.order, {}, [&](NodeId node) {
    const auto c = std::size_t(class_of(node));
    return std::tuple(group_of_class_[c], found.of_class[c], c, node);
  });
  return arrangement;
}

}  // namespace trainyard
