// One entry of `cluster.nodes` with every default filled in; private to this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/view.hpp"
#include "topologies/catalogue.hpp"
#include "topologies/link_list.hpp"

namespace trainyard {

/// full_mesh: a link between every two GPUs. domain: nodes share the switches that their GPUs hang on. listed: every
/// link is written out.
enum class InsideKind { nvswitch, nvlink_mesh, pcie, full_mesh, domain, listed };

struct NodeSpec {
  std::string name, instance, zone, region;
  int count = 1;
  const GpuEntry* gpu = nullptr;
  int gpus = 1;
  MarketKind market = MarketKind::on_demand;
  PriceEntry price;
  InsideKind inside = InsideKind::pcie;
  int gpus_per_switch = 2;
  int domain_nodes = 18;             ///< nodes of one NVLink domain
  std::optional<int> given_sockets;  ///< absent: two where there are several PCIe switches
  std::vector<ListedLink> listed;
  LinkClass direct;   ///< port to the NVSwitch, or one link of the mesh
  LinkClass pcie;     ///< slot of a GPU, a NIC, a PCIe switch
  LinkClass bridge;   ///< of a PCIe switch at its socket
  LinkClass memory;   ///< a socket's DRAM
  LinkClass sockets;  ///< between two sockets
  LinkClass storage;  ///< nominal 0: none
  int nics = 0;       ///< at most `gpus`, unless the links are written out
  LinkClass nic;
  HostEntry host;
  [[nodiscard]] int switches() const;  ///< PCIe switches
  [[nodiscard]] int socket_count() const { return given_sockets.value_or(switches() > 1 ? 2 : 1); }
};

/// `fabric_transport`: "" or what the fabric says; `directory`: where FILEs are looked up. Nothing if the entry is
/// wrong; `diagnostics` says how.
[[nodiscard]] std::optional<NodeSpec> node_spec(const View& item, const std::string& fabric_transport,
                                                const std::string& directory, Diagnostics& diagnostics);

/// Of `inside:`.
[[nodiscard]] Schema inside_schema();
/// Fills in what joins the GPUs of a node whose GPU and counts are known. `word`: the instance's, or "".
void read_inside(const View& item, const std::string& word, const std::string& directory, NodeSpec& spec,
                 Diagnostics& diagnostics);

}  // namespace trainyard
