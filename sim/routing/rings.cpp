#include <algorithm>
#include <map>
#include <set>

#include "sim/routing/mesh_rings.hpp"
#include "sim/routing/router.hpp"
#include "sim/units/error.hpp"

namespace trainyard {

/// Gathers the links of all rings of one group.
class RingBuilder {
 public:
  RingBuilder(const Router& router, std::span<const DeviceId> members) : router_(router), cluster_(router.cluster()) {
    regroup(members);
  }

  RingUse build() {
    use_.nodes = static_cast<int>(groups_.size());
    if (is_even()) use_.beside_first = groups_.front().members;
    if (groups_.size() == 1)
      rings_inside();
    else
      rings_between();
    count_links();
    return std::move(use_);
  }

 private:
  /// The members on one node, or on the nodes of one NVLink domain.
  struct Group {
    std::vector<DeviceId> members;
    std::vector<DeviceId> nics;                 ///< distinct, in the order of the members they serve
    std::vector<std::vector<DeviceId>> orders;  ///< ways through all members over direct links; may be empty
  };

  void regroup(std::span<const DeviceId> members) {
    require(members.size() >= 2, "a ring needs two members");
    std::map<NodeId, std::size_t> position;
    std::set<DeviceId> seen;
    for (DeviceId member : members) {
      require(index(member) < cluster_.devices.size(), "a ring's member is no device");
      const Device& device = cluster_.devices[index(member)];
      require(device.kind == DeviceKind::gpu && seen.insert(member).second, "a ring's members are GPUs, each once");
      const auto [entry, added] = position.try_emplace(router_.island_of(device.node), groups_.size());
      if (added) groups_.emplace_back();
      groups_[entry->second].members.push_back(member);
    }
    for (Group& group : groups_) group.orders = direct_orders(group.members);
  }

  [[nodiscard]] std::vector<std::vector<DeviceId>> direct_orders(const std::vector<DeviceId>& members) const {
    if (members.size() < 2) return {};
    std::vector<std::vector<int>> units(members.size(), std::vector<int>(members.size(), 0));
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t j = 0; j < members.size(); ++j)
        if (i != j) units[i][j] = static_cast<int>(router_.direct_links(members[i], members[j]).size());
    std::vector<std::vector<DeviceId>> orders;
    for (const MeshRing& ring : disjoint_rings(units)) {
      orders.emplace_back();
      for (int member : ring) orders.back().push_back(members[static_cast<std::size_t>(member)]);
    }
    return orders;
  }

  [[nodiscard]] bool is_even() const {
    const std::size_t each = groups_.front().members.size();
    return groups_.size() > 1 && each > 1 &&
           std::ranges::all_of(groups_, [&](const Group& group) { return group.members.size() == each; });
  }

  void rings_inside() {
    const Group& group = groups_.front();
    if (group.orders.empty()) {
      for (std::size_t i = 0; i < group.members.size(); ++i)
        hop({group.members[i], group.members[(i + 1) % group.members.size()]});
      return;
    }
    use_.rings = static_cast<int>(group.orders.size());
    std::map<std::pair<DeviceId, DeviceId>, std::size_t> taken;
    for (const auto& order : group.orders)
      for (std::size_t i = 0; i < order.size(); ++i) direct_hop(order[i], order[(i + 1) % order.size()], taken);
  }

  void direct_hop(DeviceId from, DeviceId to, std::map<std::pair<DeviceId, DeviceId>, std::size_t>& taken) {
    const auto links = router_.direct_links(from, to);
    const LinkId link = links.at(taken[{from, to}]++);
    crossed_.push_back(link);
    const Link& crossed = cluster_.links[index(link)];
    consider({{link}, crossed.latency, crossed.bandwidth});
  }

  void rings_between() {
    std::size_t rings = 1;
    for (Group& group : groups_) {
      group.nics = distinct_nics(group.members);
      rings = std::max(rings, group.nics.size());
    }
    use_.rings = static_cast<int>(rings);
    for (std::size_t ring = 0; ring < rings; ++ring)
      for (std::size_t g = 0; g < groups_.size(); ++g)
        hop_between(pass_through(groups_[g], ring), groups_[(g + 1) % groups_.size()], ring);
  }

  [[nodiscard]] std::vector<DeviceId> distinct_nics(const std::vector<DeviceId>& members) const {
    std::vector<DeviceId> nics;
    for (DeviceId member : members) {
      const DeviceId nic = router_.nic_of(member);
      if (std::find(nics.begin(), nics.end(), nic) == nics.end()) nics.push_back(nic);
    }
    return nics;
  }

  [[nodiscard]] static DeviceId nic_of_ring(const Group& group, std::size_t ring) {
    return group.nics[ring % group.nics.size()];
  }

  /// The first member beside the NIC that the ring uses.
  [[nodiscard]] DeviceId head_of(const Group& group, std::size_t ring) const {
    const DeviceId nic = nic_of_ring(group, ring);
    return *std::find_if(group.members.begin(), group.members.end(),
                         [&](DeviceId member) { return router_.nic_of(member) == nic; });
  }

  /// Crosses a node from the head on; returns where the ring leaves: the way from there to the NIC and the NIC.
  std::vector<DeviceId> pass_through(const Group& group, std::size_t ring) {
    const DeviceId head = head_of(group, ring);
    const DeviceId nic = nic_of_ring(group, ring);
    std::vector<DeviceId> order = group.orders.empty() ? group.members : group.orders[ring % group.orders.size()];
    std::rotate(order.begin(), std::find(order.begin(), order.end(), head), order.end());
    for (std::size_t i = 0; i + 1 < order.size(); ++i) hop({order[i], order[i + 1]});
    const DeviceId last = order.back();
    if (last == head) return {head, nic};
    const Route* straight = router_.find_route(last, nic);
    if (straight != nullptr && straight->bottleneck >= router_.route(last, head).bottleneck) return {last, nic};
    return {last, head, nic};
  }

  /// From NIC to NIC; where no way joins the two (rails without a spine), as the router goes from GPU to GPU.
  void hop_between(std::vector<DeviceId> way, const Group& next, std::size_t ring) {
    const DeviceId nic = nic_of_ring(next, ring), head = head_of(next, ring);
    if (router_.find_route(way.back(), nic) == nullptr) {
      way.back() = head;
    } else {
      way.push_back(nic);
      way.push_back(head);
    }
    hop(way);
  }

  /// One hop of a ring from neighbour to neighbour, over the places in between.
  void hop(const std::vector<DeviceId>& places) {
    Route whole;
    for (std::size_t i = 0; i + 1 < places.size(); ++i) {
      const Route& part = router_.route(places[i], places[i + 1]);
      whole.links.insert(whole.links.end(), part.links.begin(), part.links.end());
      whole.latency += part.latency;
      if (i == 0 || part.bottleneck < whole.bottleneck) whole.bottleneck = part.bottleneck;
    }
    crossed_.insert(crossed_.end(), whole.links.begin(), whole.links.end());
    consider(whole);
  }

  void consider(const Route& hop) {
    use_.hop_latency = std::max(use_.hop_latency, hop.latency);
    if (const auto common = router_.common_transport(hop)) {
      use_.transport = *common;
      common_ = true;
    }
    if (common_) return;
    if (const auto bridge = router_.bridge_inside(hop)) {
      if (slowest_.value == 0 || hop.bottleneck <= slowest_) use_.transport = *bridge;
      slowest_ = slowest_.value == 0 ? hop.bottleneck : std::min(slowest_, hop.bottleneck);
      return;
    }
    if (slowest_.value > 0 && hop.bottleneck >= slowest_) return;
    slowest_ = hop.bottleneck;
    use_.transport = router_.transport_of(hop);
  }

  void count_links() {
    std::sort(crossed_.begin(), crossed_.end());
    for (LinkId link : crossed_) {
      if (use_.links.empty() || use_.links.back().first != link) use_.links.emplace_back(link, 0);
      ++use_.links.back().second;
    }
  }

  const Router& router_;
  const Cluster& cluster_;
  std::vector<Group> groups_;
  std::vector<LinkId> crossed_;
  BytesPerSecond slowest_{};
  bool common_ = false;  ///< a hop joins unlike cards: all hops speak TCP
  RingUse use_;
};

RingUse Router::rings(std::span<const DeviceId> members) const { return RingBuilder(*this, members).build(); }

}  // namespace trainyard
