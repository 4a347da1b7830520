#include "sim/job/subset.hpp"

#include <map>
#include <string>

namespace trainyard {
namespace {

constexpr int kShared = -1, kUnknown = -2;

/// "a.17.3" of group "a" as number 5: "a.5.3".
std::string renumbered(const std::string& name, const std::string& group, int number) {
  if (!name.starts_with(group + ".")) return name;
  const std::size_t rest = name.find('.', group.size() + 1);
  return group + "." + std::to_string(number) + (rest == std::string::npos ? "" : name.substr(rest));
}

class Subset {
 public:
  explicit Subset(const Cluster& whole) : whole_(whole), owner_(owners_of_vertices(whole)), new_vertex_(whole.vertices.size(), -1) {
    made_.fabric = whole.fabric;
    made_.device_types = whole.device_types;
    made_.transports = whole.transports;
  }

  Cluster make(const std::vector<NodeId>& nodes) {
    std::vector<std::vector<std::size_t>> owned(whole_.nodes.size());
    for (std::size_t v = 0; v < owner_.size(); ++v) {
      if (owner_[v] == kShared)
        add_vertex(v, whole_.vertices[v]);
      else
        owned[std::size_t(owner_[v])].push_back(v);
    }
    for (const NodeId node : nodes) add_node(node, owned[index(node)]);
    for (const Link& link : whole_.links) add_link(link);
    return std::move(made_);
  }

 private:
  void add_vertex(std::size_t vertex, std::string name) {
    new_vertex_[vertex] = int(made_.vertices.size());
    made_.vertices.push_back(std::move(name));
  }

  void add_node(NodeId id, const std::vector<std::size_t>& vertices) {
    const Node& old = whole_.nodes[index(id)];
    const int number = count_[old.group]++;
    for (const std::size_t v : vertices) add_vertex(v, renumbered(whole_.vertices[v], old.group, number));
    Node& node = made_.nodes.emplace_back(old);
    for (DeviceId& device : node.devices) {
      Device copy = whole_.devices[index(device)];
      copy.name = renumbered(copy.name, old.group, number);
      copy.node = id_at<NodeId>(made_.nodes.size() - 1);
      copy.vertex = id_at<VertexId>(std::size_t(new_vertex_[index(copy.vertex)]));
      device = id_at<DeviceId>(made_.devices.size());
      made_.devices.push_back(std::move(copy));
    }
  }

  void add_link(const Link& link) {
    const int from = new_vertex_[index(link.from)], to = new_vertex_[index(link.to)];
    if (from < 0 || to < 0) return;
    Link copy = link;
    copy.name.clear();
    copy.from = id_at<VertexId>(std::size_t(from));
    copy.to = id_at<VertexId>(std::size_t(to));
    made_.links.push_back(std::move(copy));
  }

  const Cluster& whole_;
  std::vector<int> owner_;
  std::vector<int> new_vertex_;          ///< [old]; -1: left out
  std::map<std::string, int> count_;     ///< nodes of a group so far
  Cluster made_;
};

}  // namespace

std::vector<int> owners_of_vertices(const Cluster& cluster) {
  std::vector<int> owner(cluster.vertices.size(), kUnknown);
  std::vector<bool> is_device(cluster.vertices.size(), false);
  for (const Device& device : cluster.devices) {
    owner[index(device.vertex)] = int(device.node);
    is_device[index(device.vertex)] = true;
  }
  for (const Link& link : cluster.links) {
    if (!is_device[index(link.from)] || is_device[index(link.to)]) continue;
    int& own = owner[index(link.to)];
    const int from = owner[index(link.from)];
    const bool network = !cluster.transports[index(link.transport)].family.empty();
    own = network || (own != kUnknown && own != from) ? kShared : from;
  }
  for (int& own : owner)
    if (own == kUnknown) own = kShared;
  return owner;
}

Cluster subset(const Cluster& cluster, const std::vector<NodeId>& nodes) { return Subset(cluster).make(nodes); }

}  // namespace trainyard
