#include "sim/lowering/host_traffic.hpp"

#include <algorithm>
#include <map>

#include "sim/cost/host_work.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

class HostTraffic {
 public:
  HostTraffic(const Cluster& cluster, const Placement& placement, const Workload& workload, const Router& router, TrafficMap& traffic)
      : cluster_(cluster), placement_(placement), workload_(workload), router_(router), traffic_(traffic) {}

  void add() {
    const std::size_t before = traffic_.all.size();
    for (std::size_t cell = 0; cell < placement_.cells.size(); ++cell)
      if (const StageRole& role = placement_.role(int(cell)); role.leaves_device() || role.moves_activations()) add_cell(int(cell));
    share_cores(before);
  }

 private:
  void add_cell(int cell) {
    const std::vector<DeviceId>& members = placement_.cells[cell].members;
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
      const DeviceId host = host_of(cluster_, cluster_.devices[index(members[rank])].node);
      const Route &down = router_.route(host, members[rank]), &up = router_.route(members[rank], host);
      Communicator copy = blank(cell, rank);
      copy.kind = CommunicatorKind::to_device;
      use(copy, down);
      traffic_.all.push_back(copy);
      copy.kind = CommunicatorKind::to_host;
      use(copy, up);
      traffic_.all.push_back(copy);
      copy.kind = CommunicatorKind::host_work;
      copy.links = {{down.links.front(), 1}, {up.links.back(), 1}};
      std::ranges::sort(copy.links);
      copy.hop_latency = {};
      copy.transport = cluster_.links[index(down.links.front())].transport;
      traffic_.all.push_back(std::move(copy));
    }
  }

  Communicator blank(int cell, std::size_t rank) const {
    Communicator copy;
    copy.members = {placement_.cells[cell].members[rank]};
    copy.cells = {cell};
    copy.host = cluster_.devices[index(copy.members[0])].node;
    for (const LayerId layer : placement_.role(cell).layers)
      copy.sharers.push_back(int(sharers_of(cluster_, placement_, cell, rank, layer).size()));
    return copy;
  }

  void use(Communicator& copy, const Route& route) const {
    copy.links.clear();
    for (const LinkId link : route.links) copy.links.emplace_back(link, 1);
    std::ranges::sort(copy.links);
    copy.hop_latency = route.latency;
    copy.transport = router_.transport_of(route);
  }

  void share_cores(std::size_t from) {
    std::map<NodeId, int> workers;
    for (std::size_t i = from; i < traffic_.all.size(); ++i)
      if (traffic_.all[i].kind == CommunicatorKind::host_work) ++workers[*traffic_.all[i].host];
    for (std::size_t i = from; i < traffic_.all.size(); ++i) {
      Communicator& work = traffic_.all[i];
      if (work.kind != CommunicatorKind::host_work) continue;
      const double updates = host_updates_per_second(cluster_.type_of(host_of(cluster_, *work.host))) / workers[*work.host];
      work.limit = BytesPerSecond(host_update_bytes(workload_).value * updates);
    }
  }

  const Cluster& cluster_;
  const Placement& placement_;
  const Workload& workload_;
  const Router& router_;
  TrafficMap& traffic_;
};

}  // namespace

DeviceId host_of(const Cluster& cluster, NodeId node) {
  for (const DeviceId device : cluster.nodes[index(node)].devices)
    if (cluster.devices[index(device)].kind == DeviceKind::cpu) return device;
  throw InternalError("a node without a host");
}

void add_host_traffic(const Cluster& cluster, const Placement& placement, const Workload& workload, const Router& router, TrafficMap& traffic) {
  HostTraffic(cluster, placement, workload, router, traffic).add();
}

std::vector<Sharer> sharers_of(const Cluster& cluster, const Placement& placement, int cell, std::size_t rank, LayerId layer) {
  const auto node_of = [&](DeviceId device) { return cluster.devices[index(device)].node; };
  const NodeId node = node_of(placement.cells[cell].members[rank]);
  const std::size_t tensor = std::size_t(placement.role(cell).cut.tensor);
  std::vector<Sharer> sharers;
  for (std::size_t other = 0; other < placement.cells.size(); ++other) {
    const StageRole& role = placement.role(int(other));
    if (std::ranges::find(role.layers, layer) == role.layers.end()) continue;
    const std::vector<DeviceId>& members = placement.cells[other].members;
    for (std::size_t i = rank % tensor; i < members.size(); i += tensor)
      if (node_of(members[i]) == node) sharers.push_back({int(other), members[i]});
  }
  return sharers;
}

}  // namespace trainyard
