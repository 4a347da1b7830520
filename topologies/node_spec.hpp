// One entry of `cluster.nodes` with every default filled in; private to this folder.
#pragma once

#include <optional>
#include <string>

#include "sim/config/view.hpp"
#include "topologies/catalogue.hpp"

namespace trainyard {

/// Links of one class, one direction each.
struct LinkClass {
  Transport transport;
  BytesPerSecond nominal{};
  BytesPerSecond bandwidth{};  ///< what bulk traffic reaches
  Seconds latency{};
};

enum class InsideKind { nvswitch, nvlink_mesh, pcie };

struct NodeSpec {
  std::string name, instance, zone, region;
  int count = 1;
  const GpuEntry* gpu = nullptr;
  int gpus = 1;
  MarketKind market = MarketKind::on_demand;
  PriceEntry price;
  InsideKind inside = InsideKind::pcie;
  int gpus_per_switch = 2;
  LinkClass direct;   ///< port to the NVSwitch, or one link of the mesh
  LinkClass pcie;     ///< slot of a GPU, a NIC, a PCIe switch
  LinkClass memory;   ///< a socket's DRAM
  LinkClass sockets;  ///< between two sockets
  LinkClass storage;  ///< nominal 0: none
  int nics = 0;       ///< at most `gpus`
  LinkClass nic;
  HostEntry host;
  [[nodiscard]] int switches() const;  ///< PCIe switches
  [[nodiscard]] int socket_count() const { return switches() > 1 ? 2 : 1; }
};

/// `fabric_transport`: "" or what the fabric says. Nothing if the entry is wrong; `diagnostics` says how.
[[nodiscard]] std::optional<NodeSpec> node_spec(const View& item, const std::string& fabric_transport,
                                                Diagnostics& diagnostics);

}  // namespace trainyard
