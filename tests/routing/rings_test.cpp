#include <catch2/catch.hpp>

#include "sim/routing/router.hpp"
#include "sim/units/error.hpp"
#include "tests/routing/small_cluster.hpp"

using namespace trainyard;
using trainyard::testing::SmallCluster;

namespace {

using Uses = std::vector<std::pair<LinkId, int>>;

Uses uses(const std::vector<std::pair<int, int>>& listed) {
  Uses made;
  for (auto [link, times] : listed) made.emplace_back(LinkId{link}, times);
  return made;
}

/// Nodes of two GPUs behind a switch (links 0..3 of each node's eight: up and down of each), each GPU with a NIC of its
/// own (links 4..7); then NICs to leaves of two nodes, then leaves to the core.
struct TwoGpuNodes {
  SmallCluster s;
  std::vector<DeviceId> gpus;
  std::vector<DeviceId> nics;
  int first_fabric_link = 0;

  TwoGpuNodes(int nodes, bool inside_switch) {
    for (int n = 0; n < nodes; ++n) add_node(inside_switch);
    first_fabric_link = static_cast<int>(s.cluster.links.size());
    std::vector<VertexId> leaves;
    for (int n = 0; n < nodes; ++n) {
      if (n % 2 == 0) leaves.push_back(s.vertex("leaf"));
      for (int k = 0; k < 2; ++k) s.join(s.at(nics[static_cast<std::size_t>(2 * n + k)]), leaves.back(), 10, 3);
    }
    const VertexId core = s.vertex("core");
    for (VertexId leaf : leaves) s.join(leaf, core, 15, 5);
  }

  void add_node(bool inside_switch) {
    const NodeId node = s.node();
    const VertexId hub = s.vertex("hub");
    for (int k = 0; k < 2; ++k) gpus.push_back(s.device("gpu", DeviceKind::gpu, node));
    for (std::size_t k = gpus.size() - 2; k < gpus.size(); ++k)
      s.join(s.at(gpus[k]), hub, inside_switch ? 300 : 20, 1, 1);
    for (std::size_t k = gpus.size() - 2; k < gpus.size(); ++k) {
      nics.push_back(s.device("nic", DeviceKind::nic, node));
      s.join(s.at(gpus[k]), s.at(nics.back()), 20, 2);
    }
  }
};

}  // namespace

TEST_CASE("inside a node one ring crosses every port once each way") {
  TwoGpuNodes two(1, true);
  const RingUse use = Router(two.s.cluster).rings(two.gpus);
  REQUIRE(use.rings == 1);
  REQUIRE(use.nodes == 1);
  REQUIRE(use.links == uses({{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
  REQUIRE(use.hop_latency.value == Approx(2e-6));
  REQUIRE(use.transport == TransportId{1});
}

TEST_CASE("two nodes under one leaf: a ring for each NIC, and the leaf's up-links are not used") {
  TwoGpuNodes two(2, true);
  const RingUse use = Router(two.s.cluster).rings(two.gpus);
  REQUIRE(use.rings == 2);
  REQUIRE(use.nodes == 2);
  Uses expected;
  for (int node = 0; node < 2; ++node)
    for (int link = 0; link < 8; ++link) expected.emplace_back(LinkId{8 * node + link}, link < 4 ? 2 : 1);
  for (int link = 16; link < 24; ++link) expected.emplace_back(LinkId{link}, 1);
  REQUIRE(use.links == expected);
  REQUIRE(use.transport == TransportId{0});
  REQUIRE(use.hop_latency.value == Approx(12e-6));  // port, port, slot, NIC, NIC, slot
}

TEST_CASE("two leaves of two nodes: each leaf's up-link is crossed once a ring and direction") {
  TwoGpuNodes four(4, true);
  const RingUse use = Router(four.s.cluster).rings(four.gpus);
  REQUIRE(use.rings == 2);
  REQUIRE(use.nodes == 4);
  const int up = four.first_fabric_link + 16;
  const Uses tail(use.links.end() - 4, use.links.end());
  REQUIRE(tail == uses({{up, 2}, {up + 1, 2}, {up + 2, 2}, {up + 3, 2}}));
  REQUIRE(use.hop_latency.value == Approx(22e-6));
}

TEST_CASE("members spread over leaves cross the up-links at every hop") {
  TwoGpuNodes four(4, true);
  const std::vector<DeviceId> members{four.gpus[0], four.gpus[4], four.gpus[2], four.gpus[6]};
  const RingUse use = Router(four.s.cluster).rings(members);
  REQUIRE(use.rings == 1);
  const int up = four.first_fabric_link + 16;
  const Uses tail(use.links.end() - 4, use.links.end());
  REQUIRE(tail == uses({{up, 2}, {up + 1, 2}, {up + 2, 2}, {up + 3, 2}}));
}

TEST_CASE("one member a node: only its slot and NIC, each way once") {
  TwoGpuNodes two(2, true);
  const RingUse use = Router(two.s.cluster).rings(std::vector<DeviceId>{two.gpus[1], two.gpus[3]});
  REQUIRE(use.rings == 1);
  REQUIRE(use.links == uses({{6, 1}, {7, 1}, {14, 1}, {15, 1}, {18, 1}, {19, 1}, {22, 1}, {23, 1}}));
}

TEST_CASE("members are regrouped node by node") {
  TwoGpuNodes two(2, true);
  const Router router(two.s.cluster);
  const auto& g = two.gpus;
  const RingUse mixed = router.rings(std::vector<DeviceId>{g[0], g[2], g[1], g[3]});
  REQUIRE(mixed.links == router.rings(g).links);
}

TEST_CASE("where the inside is no wider than the slot, the last member goes to the NIC itself") {
  SmallCluster s;
  std::vector<DeviceId> gpus;
  std::vector<VertexId> nics;
  for (int n = 0; n < 2; ++n) {
    const NodeId node = s.node();
    const VertexId pcie = s.vertex("pcie");
    for (int k = 0; k < 2; ++k) {
      gpus.push_back(s.device("gpu", DeviceKind::gpu, node));
      s.join(s.at(gpus.back()), pcie, 12);
    }
    nics.push_back(s.at(s.device("nic", DeviceKind::nic, node)));
    s.join(pcie, nics.back(), 12);
  }
  s.join(nics[0], nics[1], 10);
  const RingUse use = Router(s.cluster).rings(gpus);
  REQUIRE(use.rings == 1);
  Uses expected;
  for (int link = 0; link < 14; ++link) expected.emplace_back(LinkId{link}, 1);
  REQUIRE(use.links == expected);
}

TEST_CASE("uneven nodes: the best-connected sets the number of rings, the other's NIC carries both") {
  TwoGpuNodes two(2, true);
  const RingUse use = Router(two.s.cluster).rings(std::vector<DeviceId>{two.gpus[0], two.gpus[1], two.gpus[2]});
  REQUIRE(use.rings == 2);
  const int nic_of_second = two.first_fabric_link + 4;
  for (auto [link, times] : use.links)
    if (index(link) == static_cast<std::size_t>(nic_of_second)) REQUIRE(times == 2);
}

TEST_CASE("rings of direct links use every link once") {
  SmallCluster s;
  const NodeId node = s.node();
  const DeviceId a = s.device("a", DeviceKind::gpu, node), b = s.device("b", DeviceKind::gpu, node);
  s.join(s.at(a), s.at(b), 25, 1);
  s.join(s.at(a), s.at(b), 25, 1);
  const RingUse use = Router(s.cluster).rings(std::vector<DeviceId>{a, b});
  REQUIRE(use.rings == 2);
  REQUIRE(use.links == uses({{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
  REQUIRE(use.hop_latency.value == Approx(1e-6));
}

TEST_CASE("a ring of one member, of strangers or of doubles is a bug") {
  TwoGpuNodes one(1, true);
  const Router router(one.s.cluster);
  REQUIRE_THROWS_AS(router.rings(std::vector<DeviceId>{one.gpus[0]}), InternalError);
  REQUIRE_THROWS_AS(router.rings(std::vector<DeviceId>{one.gpus[0], one.gpus[0]}), InternalError);
  REQUIRE_THROWS_AS(router.rings(std::vector<DeviceId>{one.gpus[0], one.nics[0]}), InternalError);
}
