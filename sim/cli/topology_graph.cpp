// The cluster as a flow network, and as a drawing.
#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/cli/explain_topology.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

constexpr std::size_t kSource = 0, kSink = 1;

/// [vertex]: source for the first half of the nodes, sink for the second, or a place of its own.
std::vector<std::size_t> flow_places(const Cluster& cluster) {
  std::vector<std::size_t> place(cluster.vertices.size());
  for (std::size_t v = 0; v < place.size(); ++v) place[v] = v + 2;
  for (const Device& device : cluster.devices)
    place[index(device.vertex)] = index(device.node) < cluster.nodes.size() / 2 ? kSource : kSink;
  return place;
}

/// Capacities between places that differ, parallel ones taken together.
std::map<std::pair<std::size_t, std::size_t>, double> capacities(const Cluster& cluster) {
  const std::vector<std::size_t> place = flow_places(cluster);
  std::map<std::pair<std::size_t, std::size_t>, double> between;
  for (const Link& link : cluster.links) {
    const std::size_t from = place[index(link.from)], to = place[index(link.to)];
    if (from != to) between[{from, to}] += link.nominal.value;
  }
  return between;
}

void add_edge(FlowGraph& graph, std::size_t from, std::size_t to, std::int64_t capacity) {
  const auto there = boost::add_edge(from, to, graph).first, back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, there, capacity);
  boost::put(boost::edge_capacity, graph, back, std::int64_t{0});
  boost::put(boost::edge_reverse, graph, there, back);
  boost::put(boost::edge_reverse, graph, back, there);
}

std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : text) made += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return made;
}

const char* shape_of(const Device* device) {
  if (device == nullptr) return "ellipse";
  return device->kind == DeviceKind::gpu ? "box" : device->kind == DeviceKind::nic ? "cds" : "component";
}

/// Both ends in order of ids, name, rate: equal links each way become one edge.
std::string edges_dot(const Cluster& cluster) {
  std::map<std::tuple<std::size_t, std::size_t, double>, std::pair<int, int>> edges;
  for (const Link& link : cluster.links) {
    const std::size_t a = index(link.from), b = index(link.to);
    auto& [there, back] = edges[{std::min(a, b), std::max(a, b), link.nominal.value}];
    ++(a < b ? there : back);
  }
  std::string text;
  for (const auto& [edge, counts] : edges) {
    const auto& [a, b, rate] = edge;
    const int times = std::max(counts.first, counts.second);
    const char* arrow = counts.first == counts.second ? "none" : counts.first > 0 ? "forward" : "back";
    text += fmt::format("  v{} -> v{} [dir={}, label=\"{}{}\"];\n", a, b, arrow,
                        times > 1 ? fmt::format("{} x ", times) : "", to_text(BytesPerSecond(rate)));
  }
  return text;
}

}  // namespace

BytesPerSecond bisection(const Cluster& cluster) {
  if (cluster.nodes.size() < 2) return {};
  FlowGraph graph(cluster.vertices.size() + 2);
  for (const auto& [ends, capacity] : capacities(cluster))
    add_edge(graph, ends.first, ends.second, std::llround(capacity));
  return BytesPerSecond(static_cast<double>(boost::push_relabel_max_flow(graph, kSource, kSink)));
}

std::string topology_dot(const Cluster& cluster) {
  std::vector<const Device*> device(cluster.vertices.size(), nullptr);
  for (const Device& of : cluster.devices) device[index(of.vertex)] = &of;
  std::string text =
      "digraph cluster_of_gpus {\n  // link names are FROM>TO, in the labels' words\n  node [fontsize=10];\n  edge "
      "[fontsize=8];\n";
  const auto vertex = [&](std::size_t v, const char* indent) {
    text +=
        fmt::format("{}v{} [label=\"{}\", shape={}];\n", indent, v, escaped(cluster.vertices[v]), shape_of(device[v]));
  };
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    text += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n", n, escaped(cluster.nodes[n].group));
    for (DeviceId id : cluster.nodes[n].devices) vertex(index(cluster.devices[index(id)].vertex), "    ");
    text += "  }\n";
  }
  for (std::size_t v = 0; v < cluster.vertices.size(); ++v)
    if (device[v] == nullptr) vertex(v, "  ");
  return text + edges_dot(cluster) + "}\n";
}

}  // namespace trainyard
