// Routes and rings over built clusters, followed by hand.
#include "sim/routing/router.hpp"
#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

namespace {

std::vector<std::string> way(const Cluster& cluster, const Router& router, const std::string& from,
                             const std::string& to) {
  std::vector<std::string> names;
  for (LinkId link : router.route(device_named(cluster, from), device_named(cluster, to)).links)
    names.push_back(cluster.vertices[index(cluster.links[index(link)].to)]);
  return names;
}

using Names = std::vector<std::string>;

int times_of(const Cluster& cluster, const RingUse& use, const std::string& link) {
  for (auto [id, times] : use.links)
    if (cluster.name_of(id) == link) return times;
  return 0;
}

const char* const kTwoLeaves =
    "nodes: [{name: a, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps, count: 4}]\n"
    "fabric: {kind: fat_tree, leaf: 2, oversubscription: 2}\n";

}  // namespace

TEST_CASE("between GPUs behind an NVSwitch the way leads through it, not through PCIe") {
  const Cluster c = build("nodes: [{name: a, instance: aws.p4d.24xlarge}]");
  const Router router(c);
  REQUIRE(way(c, router, "a.0.0", "a.0.1") == Names{"a.0.nvswitch", "a.0.1"});
  REQUIRE(way(c, router, "a.0.0", "a.0.cpu") == Names{"a.0.pcie0", "a.0.socket0", "a.0.cpu"});
}

TEST_CASE("between nodes every GPU leaves by its NIC") {
  const Cluster c = build(kTwoLeaves);
  const Router router(c);
  REQUIRE(way(c, router, "a.0.3", "a.1.3") ==
          Names{"a.0.pcie3", "a.0.nic3", "fabric.leaf0", "a.1.nic3", "a.1.pcie3", "a.1.3"});
  REQUIRE(way(c, router, "a.0.3", "a.3.5") == Names{"a.0.pcie3", "a.0.nic3", "fabric.leaf0", "fabric.core",
                                                    "fabric.leaf1", "a.3.nic5", "a.3.pcie5", "a.3.5"});
}

TEST_CASE("GPU g uses NIC floor(g nics / gpus), for every number of NICs") {
  for (int nics : {1, 2, 3, 4, 5, 8}) {
    const Cluster c = build("nodes: [{name: a, gpu: A100-80, gpus_per_node: 8, nics: " + std::to_string(nics) +
                            ", nic: 100 Gbps, count: 2}]");
    const Router router(c);
    for (int g = 0; g < 8; ++g) {
      INFO(nics << " NICs, GPU " << g);
      const Names names = way(c, router, "a.0." + std::to_string(g), "a.1." + std::to_string(g));
      REQUIRE(names.at(1) == "a.0.nic" + std::to_string(g * nics / 8));
      REQUIRE(names.at(3) == "a.1.nic" + std::to_string(g * nics / 8));
    }
  }
}

TEST_CASE("on PCIe, GPUs of different sockets meet over the sockets, not over the NIC") {
  const Cluster c = build("nodes: [{name: t, instance: aws.g4dn.12xlarge}]");
  const Router router(c);
  REQUIRE(way(c, router, "t.0.0", "t.0.1") == Names{"t.0.pcie0", "t.0.1"});
  REQUIRE(way(c, router, "t.0.0", "t.0.2") == Names{"t.0.pcie0", "t.0.socket0", "t.0.socket1", "t.0.pcie1", "t.0.2"});
}

TEST_CASE("in the mesh, neighbours talk directly and others over one GPU between") {
  const Cluster c = build("nodes: [{name: v, instance: aws.p3.16xlarge, count: 2}]");
  const Router router(c);
  REQUIRE(way(c, router, "v.0.0", "v.0.3") == Names{"v.0.3"});
  REQUIRE(way(c, router, "v.0.0", "v.0.5") == Names{"v.0.1", "v.0.5"});
  REQUIRE(way(c, router, "v.0.7", "v.1.7") ==
          Names{"v.0.pcie3", "v.0.nic0", "fabric.switch", "v.1.nic0", "v.1.pcie3", "v.1.7"});
}

TEST_CASE("eight GPUs of the mesh ring six times at 25 GB/s") {
  const Cluster c = build("nodes: [{name: v, instance: aws.p3.16xlarge}]");
  const RingUse use = Router(c).rings(c.gpus());
  REQUIRE(use.rings == 6);
  REQUIRE(use.links.size() == 48);
  for (auto [link, times] : use.links) {
    REQUIRE(times == 1);
    REQUIRE(c.links[index(link)].nominal.value == 25e9);
  }
  REQUIRE(c.transports[index(use.transport)].name == "nvlink2");
}

TEST_CASE("two GPUs of the mesh that share a double link ring twice; strangers go over others") {
  const Cluster c = build("nodes: [{name: v, instance: aws.p3.16xlarge}]");
  const Router router(c);
  REQUIRE(router.rings(std::vector<DeviceId>{DeviceId{0}, DeviceId{3}}).rings == 2);
  const RingUse strangers = router.rings(std::vector<DeviceId>{DeviceId{0}, DeviceId{5}});
  REQUIRE(strangers.rings == 1);
  REQUIRE(strangers.links.size() == 4);
}

TEST_CASE("all GPUs of two leaves of two nodes: eight rings, ports eight times, up-links eight times") {
  const Cluster c = build(kTwoLeaves);
  const RingUse use = Router(c).rings(c.gpus());
  REQUIRE(use.rings == 8);
  REQUIRE(use.nodes == 4);
  REQUIRE(times_of(c, use, "a.0.3>a.0.nvswitch") == 8);
  REQUIRE(times_of(c, use, "a.2.nvswitch>a.2.7") == 8);
  REQUIRE(times_of(c, use, "a.1.nic4>fabric.leaf0") == 1);
  REQUIRE(times_of(c, use, "fabric.leaf0>a.1.nic4") == 1);
  REQUIRE(times_of(c, use, "a.1.4>a.1.pcie4") == 1);
  REQUIRE(times_of(c, use, "fabric.leaf0>fabric.core") == 8);
  REQUIRE(times_of(c, use, "fabric.core>fabric.leaf0") == 8);
  REQUIRE(c.transports[index(use.transport)].name == "infiniband");
}

TEST_CASE("a group inside one leaf does not leave it") {
  const Cluster c = build(kTwoLeaves);
  const std::vector<DeviceId> gpus = c.gpus();
  const RingUse use = Router(c).rings(std::span(gpus).first(16));
  REQUIRE(use.rings == 8);
  REQUIRE(times_of(c, use, "fabric.leaf0>fabric.core") == 0);
}

TEST_CASE("one NIC for eight GPUs: one ring, the other nodes' NICs carry it once") {
  const Cluster c = build(
      "nodes:\n"
      "  - {name: a, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps}\n"
      "  - {name: v, gpu: V100-16, gpus_per_node: 8, nics: 1, nic: 100 Gbps}\n");
  const Router router(c);
  const RingUse mixed = router.rings(c.gpus());
  REQUIRE(mixed.rings == 8);
  REQUIRE(times_of(c, mixed, "v.0.nic0>fabric.switch") == 8);
  REQUIRE(times_of(c, mixed, "a.0.nic5>fabric.switch") == 1);
}

TEST_CASE("GPUs that meet at a host bridge go by its times; neighbours under one PCIe switch by their slots'") {
  const auto ring_of = [](const char* inside, std::size_t members) {
    const Cluster c = build(std::string("nodes: [{name: a, gpu: L40S, gpus_per_node: 8, count: 1, inside: {kind: pcie") + inside + "}}]");
    std::vector<DeviceId> gpus = c.gpus();
    gpus.resize(members);
    return c.transports[index(Router(c).rings(gpus).transport)].name;
  };
  CHECK(ring_of("", 8) == "pcie4");
  CHECK(ring_of(", staged_peers: true", 2) == "pcie4");
  CHECK(ring_of(", staged_peers: true", 4) == "pcie4_staged");
  CHECK(ring_of(", staged_peers: true, gpus_per_switch: 1", 2) == "pcie4_staged");
  const Cluster blackwell = build("nodes: [{name: a, gpu: RTX-PRO-6000, gpus_per_node: 4, count: 1}]");
  CHECK(blackwell.transports[index(Router(blackwell).rings(blackwell.gpus()).transport)].name == "pcie5_bridge");
}

TEST_CASE("staging is measured on PCIe 4 alone") {
  CHECK(mistakes("nodes: [{name: a, gpu: T4, gpus_per_node: 2, count: 1, inside: {kind: pcie, staged_peers: true}}]") ==
        "staging is measured on PCIe 4 alone, and not on pcie3");
}
