#include "sim/model/cluster_share.hpp"

#include <variant>

namespace trainyard {
namespace {

class Sharing {
 public:
  Sharing(const Cluster& whole, const std::vector<bool>& chosen)
      : whole_(whole), new_device_(whole.devices.size(), -1), new_link_(whole.links.size(), -1) {
    Cluster& own = share_.cluster;
    own.fabric = whole.fabric;
    own.device_types = whole.device_types;
    own.transports = whole.transports;
    own.vertices = whole.vertices;
    for (std::size_t n = 0; n < chosen.size(); ++n)
      if (chosen[n]) add_node(whole.nodes[n]);
    add_links();
    for (const ClusterEvent& event : whole.events) add_event(event);
  }

  ClusterShare take() { return std::move(share_); }

 private:
  void add_node(Node node) {
    for (DeviceId& device : node.devices) {
      Device copy = whole_.devices[index(device)];
      copy.node = id_at<NodeId>(share_.cluster.nodes.size());
      new_device_[index(device)] = int(share_.cluster.devices.size());
      device = id_at<DeviceId>(share_.cluster.devices.size());
      share_.cluster.devices.push_back(std::move(copy));
    }
    share_.cluster.nodes.push_back(std::move(node));
  }

  /// A link to a device of another node would be a way through that node.
  void add_links() {
    std::vector<bool> closed(whole_.vertices.size(), false);
    for (std::size_t d = 0; d < whole_.devices.size(); ++d)
      if (new_device_[d] < 0) closed[index(whole_.devices[d].vertex)] = true;
    for (std::size_t l = 0; l < whole_.links.size(); ++l) {
      const Link& link = whole_.links[l];
      if (closed[index(link.from)] || closed[index(link.to)]) continue;
      new_link_[l] = int(share_.links.size());
      share_.links.push_back(id_at<LinkId>(l));
      share_.cluster.links.push_back(link);
    }
  }

  void add_event(ClusterEvent event) {
    if (auto* change = std::get_if<LinkChange>(&event.what)) {
      if (new_link_[index(change->link)] < 0) return;
      change->link = LinkId{new_link_[index(change->link)]};
    } else {
      DeviceId& device = std::get<DeviceFailure>(event.what).device;
      if (new_device_[index(device)] < 0) return;
      device = DeviceId{new_device_[index(device)]};
    }
    share_.cluster.events.push_back(event);
  }

  const Cluster& whole_;
  std::vector<int> new_device_, new_link_;  ///< [in the whole]; -1: not here
  ClusterShare share_;
};

}  // namespace

ClusterShare share_of(const Cluster& whole, const std::vector<bool>& chosen) { return Sharing(whole, chosen).take(); }

}  // namespace trainyard
