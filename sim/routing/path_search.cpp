#include "sim/routing/path_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace trainyard {

namespace {

/// Beyond so many NICs at one vertex, they do not count as work of the side that comes by.
constexpr std::size_t kManyNics = 24;

}  // namespace

PathSearch::Graph PathSearch::graph_of(bool forward, bool with_nics) const {
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  std::vector<LinkIndex> indices;
  ends.reserve(cluster_.links.size());
  indices.reserve(cluster_.links.size());
  for (std::size_t i = 0; i < cluster_.links.size(); ++i) {
    const std::size_t from = index(cluster_.links[i].from), to = index(cluster_.links[i].to);
    if (!with_nics && (nic_node_[from] >= 0 || nic_node_[to] >= 0)) continue;
    ends.push_back(forward ? std::pair(from, to) : std::pair(to, from));
    indices.push_back({static_cast<std::int32_t>(i), cluster_.links[i].bandwidth.value});
  }
  return Graph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), indices.begin(),
               cluster_.vertices.size());
}

PathSearch::PathSearch(const Cluster& cluster)
    : cluster_(cluster),
      passing_(cluster.vertices.size(), Passing::always),
      node_(cluster.vertices.size(), -1),
      nic_node_(cluster.vertices.size(), -1) {
  classify_vertices();
  prepare(ahead_, true);
  prepare(behind_, false);
  list_nics();
}

void PathSearch::prepare(Side& side, bool forward) const {
  side.graph = graph_of(forward, true);
  side.plain = graph_of(forward, false);
  side.reached.resize(cluster_.vertices.size());
  side.edges.resize(cluster_.vertices.size());
  for (std::size_t v = 0; v < side.edges.size(); ++v) {
    const std::size_t all = out_degree(v, side.graph), plain = out_degree(v, side.plain);
    side.edges[v] = static_cast<std::int32_t>(all > plain + kManyNics ? plain : all);
  }
}

void PathSearch::list_nics() {
  beside_nics_.resize(cluster_.nodes.size());
  beside_end_.assign(cluster_.vertices.size(), 0);
  for (const Link& link : cluster_.links)
    for (const auto& [nic, other] : {std::pair(link.from, link.to), std::pair(link.to, link.from)})
      if (const std::int32_t node = nic_node_[index(nic)]; node >= 0)
        beside_nics_[static_cast<std::size_t>(node)].push_back(static_cast<std::int32_t>(other));
  for (std::vector<std::int32_t>& vertices : beside_nics_) {
    std::sort(vertices.begin(), vertices.end());
    vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  }
}

void PathSearch::mark_nics_of_ends() {
  for (const std::int32_t node : nodes_)
    if (node >= 0)
      for (const std::int32_t vertex : beside_nics_[static_cast<std::size_t>(node)]) beside_end_[static_cast<std::size_t>(vertex)] = search_;
}

void PathSearch::classify_vertices() {
  for (const Device& device : cluster_.devices) {
    node_[index(device.vertex)] = static_cast<std::int32_t>(device.node);
    if (device.kind == DeviceKind::nic) nic_node_[index(device.vertex)] = static_cast<std::int32_t>(device.node);
    Passing& passing = passing_[index(device.vertex)];
    if (device.kind == DeviceKind::gpu) passing = Passing::gpu;
    if (device.kind == DeviceKind::nic) passing = Passing::nic;
    if (device.kind == DeviceKind::cpu || device.kind == DeviceKind::storage) passing = Passing::never;
  }
  for (const Link& link : cluster_.links)
    if (passing_[index(link.to)] == Passing::never && passing_[index(link.from)] == Passing::always)
      passing_[index(link.from)] = Passing::bridge;
}

bool PathSearch::passes(std::int32_t vertex) const {
  switch (passing_[static_cast<std::size_t>(vertex)]) {
    case Passing::always:
      return true;
    case Passing::gpu:
      return passage_.gpus;
    case Passing::nic:
      return passage_.nics;
    case Passing::bridge:
      return passage_.bridges;
    case Passing::never:
      return false;
  }
  return false;
}

// NICs hand on into their own node only, so those of third nodes lead nowhere: a leaf switch has hundreds of them.
bool PathSearch::strange_nic(std::size_t vertex) const {
  const std::int32_t node = nic_node_[vertex];
  return node >= 0 && node != nodes_[0] && node != nodes_[1];
}

void PathSearch::start(Side& side, VertexId at) {
  side.distance = 0;
  side.frontier.assign(1, static_cast<std::int32_t>(at));
  side.reached[index(at)] = {search_, 0, -1, std::numeric_limits<double>::infinity()};
}

std::size_t PathSearch::work(const Side& side) const {
  std::size_t edges = 0;
  for (std::int32_t v : side.frontier) {
    if (side.distance > 0 && !passes(v)) continue;
    edges += static_cast<std::size_t>(side.edges[static_cast<std::size_t>(v)]);
  }
  return edges;
}

/// NICs of both ends' nodes that hang on this vertex, found from the NICs, which have few links.
template <class Follow>
void PathSearch::nics_of_ends(const Side& side, std::size_t vertex, const Follow& follow) const {
  const Graph& back = &side == &ahead_ ? behind_.graph : ahead_.graph;
  for (std::size_t end = 0; end < 2; ++end) {
    if (nodes_[end] < 0 || (end == 1 && nodes_[1] == nodes_[0])) continue;
    for (DeviceId device : cluster_.nodes[static_cast<std::size_t>(nodes_[end])].devices) {
      const std::size_t nic = index(cluster_.devices[index(device)].vertex);
      if (nic_node_[nic] < 0) continue;
      for (auto [edge, last] = out_edges(nic, back); edge != last; ++edge)
        if (target(*edge, back) == vertex) follow(back[*edge], nic);
    }
  }
}

/// Of the NICs at a vertex only those of the two ends count, and few vertices have them.
template <class Follow>
void PathSearch::neighbours(const Side& side, std::size_t vertex, const Follow& follow) const {
  if (nic_node_[vertex] >= 0) {
    for (auto [edge, end] = out_edges(vertex, side.graph); edge != end; ++edge)
      if (const std::size_t next = target(*edge, side.graph); !strange_nic(next)) follow(side.graph[*edge], next);
    return;
  }
  for (auto [edge, end] = out_edges(vertex, side.plain); edge != end; ++edge) follow(side.plain[*edge], target(*edge, side.plain));
  if (beside_end_[vertex] == search_) nics_of_ends(side, vertex, follow);
}

inline void PathSearch::reach(Side& side, std::int32_t vertex, std::int32_t link, double bottleneck) const {
  Reached& known = side.reached[static_cast<std::size_t>(vertex)];
  if (known.search != search_) {
    known = {search_, side.distance + 1, link, bottleneck};
    side.next.push_back(vertex);
    return;
  }
  const bool better = bottleneck > known.bottleneck || (bottleneck == known.bottleneck && link < known.link);
  if (known.distance == side.distance + 1 && better) known = {search_, known.distance, link, bottleneck};
}

void PathSearch::expand(Side& side) {
  side.next.clear();
  for (std::int32_t v : side.frontier) {
    if (side.distance > 0 && !passes(v)) continue;
    const double so_far = side.reached[static_cast<std::size_t>(v)].bottleneck;
    const auto follow = [&](const LinkIndex& link, std::size_t neighbour) {
      reach(side, static_cast<std::int32_t>(neighbour), link.link, std::min(so_far, link.width));
    };
    neighbours(side, static_cast<std::size_t>(v), follow);
  }
  std::swap(side.frontier, side.next);
  ++side.distance;
}

// The first level that meets the other side holds the middle of every shortest path: paths of up to the sum of both
// distances have been seen, and shorter ones would have met before.
std::int32_t PathSearch::meeting(const Side& grown, const Side& other) const {
  std::int32_t best = -1;
  double best_width = -1;
  for (std::int32_t v : grown.frontier) {
    const Reached& there = other.reached[static_cast<std::size_t>(v)];
    if (there.search != search_ || (there.distance > 0 && !passes(v))) continue;
    const double width = std::min(grown.reached[static_cast<std::size_t>(v)].bottleneck, there.bottleneck);
    if (width > best_width || (width == best_width && v < best)) {
      best = v;
      best_width = width;
    }
  }
  return best;
}

std::vector<LinkId> PathSearch::path_through(std::int32_t middle) const {
  std::vector<LinkId> links;
  for (auto v = static_cast<std::size_t>(middle); ahead_.reached[v].link >= 0;) {
    links.push_back(LinkId{ahead_.reached[v].link});
    v = index(cluster_.links[index(links.back())].from);
  }
  std::reverse(links.begin(), links.end());
  for (auto v = static_cast<std::size_t>(middle); behind_.reached[v].link >= 0;) {
    links.push_back(LinkId{behind_.reached[v].link});
    v = index(cluster_.links[index(links.back())].to);
  }
  return links;
}

std::optional<std::vector<LinkId>> PathSearch::find(VertexId from, VertexId to, Passage passage) {
  if (from == to) return std::vector<LinkId>{};
  ++search_;
  passage_ = passage;
  nodes_ = {node_[index(from)], node_[index(to)]};
  mark_nics_of_ends();
  start(ahead_, from);
  start(behind_, to);
  while (!ahead_.frontier.empty() && !behind_.frontier.empty()) {
    const bool go_ahead = work(ahead_) <= work(behind_);
    Side& grown = go_ahead ? ahead_ : behind_;
    expand(grown);
    const std::int32_t middle = meeting(grown, go_ahead ? behind_ : ahead_);
    if (middle >= 0) return path_through(middle);
  }
  return std::nullopt;
}

std::optional<VertexId> PathSearch::nearest_nic(VertexId gpu) {
  ++search_;
  passage_ = {.gpus = false, .nics = false, .bridges = true};
  nodes_ = {node_[index(gpu)], node_[index(gpu)]};
  mark_nics_of_ends();
  start(ahead_, gpu);
  while (!ahead_.frontier.empty()) {
    expand(ahead_);
    std::int32_t best = -1;
    double width = -1;
    for (std::int32_t v : ahead_.frontier) {
      const double here = ahead_.reached[static_cast<std::size_t>(v)].bottleneck;
      if (nic_node_[static_cast<std::size_t>(v)] < 0 || here < width || (here == width && v > best)) continue;
      best = v;
      width = here;
    }
    if (best >= 0) return VertexId{best};
  }
  return std::nullopt;
}

bool PathSearch::by_nic(const std::vector<LinkId>& way) const {
  return std::any_of(way.begin(), way.end(),
                     [&](LinkId link) { return nic_node_[index(cluster_.links[index(link)].to)] >= 0; });
}

std::vector<LinkId> PathSearch::between(VertexId from, VertexId to) const {
  std::vector<LinkId> links;
  const Graph& graph = ahead_.graph;
  for (auto [edge, end] = out_edges(index(from), graph); edge != end; ++edge)
    if (target(*edge, graph) == index(to)) links.push_back(LinkId{graph[*edge].link});
  std::sort(links.begin(), links.end());
  return links;
}

}  // namespace trainyard
