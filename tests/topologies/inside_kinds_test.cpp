// Full meshes, NVLink domains, PCIe trees, insides written out.
#include <fstream>

#include "sim/routing/router.hpp"
#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

namespace {

std::ptrdiff_t vertices_with(const Cluster& cluster, const std::string& part) {
  return std::count_if(cluster.vertices.begin(), cluster.vertices.end(),
                       [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

std::string node_mistakes(const std::string& keys) { return mistakes("nodes: [{name: a, " + keys + "}]"); }

const std::string kTwoListed =
    "links: [{between: [\"0\", sw], bandwidth: 30 GB/s}, {between: [\"1\", sw], bandwidth: 30 GB/s}, {between: [sw, "
    "cpu], bandwidth: 30 GB/s}, {between: [\"0\", \"1\"], bandwidth: 25 GB/s, count: 2, transport: nvlink3}";

}  // namespace

TEST_CASE("Infinity Fabric: a link between every two of eight GPUs, seven rings over all of them") {
  const Cluster c = build("nodes: [{name: m, gpu: MI300X, gpus_per_node: 8, inside: infinity_fabric}]");
  REQUIRE(links_with(c, "xgmi") == 8 * 7);
  REQUIRE(link_named(c, "m.0.2>m.0.5").nominal.value == Approx(448e9 / 7));
  const Router router(c);
  REQUIRE(router.route(device_named(c, "m.0.0"), device_named(c, "m.0.7")).links.size() == 1);
  const RingUse use = router.rings(c.gpus());
  REQUIRE(use.rings == 7);
  REQUIRE(use.links.size() == 56);
  REQUIRE(node_mistakes("gpu: A100-80, gpus_per_node: 8, inside: infinity_fabric") ==
          "a full mesh needs 2 to 8 GPUs with Infinity Fabric, such as MI300X, not 8 x A100-SXM4-80GB");
}

TEST_CASE("HCCS: a full mesh of accelerators") {
  const Cluster c = build("nodes: [{name: n, gpu: Ascend-910B-64GB, gpus_per_node: 8, inside: hccs}]");
  REQUIRE(links_with(c, "hccs") == 8 * 7);
  REQUIRE(link_named(c, "n.0.0>n.0.1").nominal.value == Approx(28e9));
}

TEST_CASE("NVL72: nodes of four GPUs on the same switches are one domain") {
  const Cluster c = build(
      "nodes: [{name: g, gpu: GB200, gpus_per_node: 4, nics: 4, nic: 400 Gbps, count: 36, inside: nvl72}]\n"
      "fabric: {kind: dgx-gb200-nvl72}\n");
  REQUIRE(vertices_with(c, "g.nvlink") == 2);
  const Router router(c);
  REQUIRE(router.route(device_named(c, "g.0.0"), device_named(c, "g.17.3")).links.size() == 2);
  REQUIRE(router.route(device_named(c, "g.0.0"), device_named(c, "g.18.0")).links.size() == 6);
  const std::vector<DeviceId> gpus = c.gpus();
  const RingUse inside = router.rings(std::span(gpus).first(72));
  REQUIRE(inside.nodes == 1);
  REQUIRE(inside.rings == 1);
  REQUIRE(inside.links.size() == 144);
  REQUIRE(c.transports[index(inside.transport)].name == "nvlink5");
  const RingUse both = router.rings(gpus);
  REQUIRE(both.nodes == 2);
  REQUIRE(both.rings == 72);
  const Cluster small = build(
      "nodes: [{name: g, gpu: GB200, gpus_per_node: 4, nics: 4, nic: 400 Gbps, count: 4, inside: {kind: nvl72, domain: "
      "2}}]");
  REQUIRE(vertices_with(small, "g.nvlink") == 2);
}

TEST_CASE("PCIe trees: switches and sockets as written") {
  const Cluster c =
      build("nodes: [{name: l, gpu: L4, gpus_per_node: 8, inside: {kind: pcie, switches: 4, sockets: 4}}]");
  REQUIRE(vertices_with(c, ".pcie") == 4);
  REQUIRE(vertices_with(c, ".socket") == 4);
  REQUIRE(Router(c).route(device_named(c, "l.0.0"), device_named(c, "l.0.7")).links.size() == 5);
  REQUIRE(vertices_with(build("nodes: [{name: l, gpu: L4, gpus_per_node: 8, inside: {kind: pcie, switches: 1}}]"),
                        ".socket") == 1);
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 8, inside: {kind: pcie, switches: 3}") ==
          "8 GPUs and 0 NICs do not divide evenly over 3 switches");
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 8, inside: {kind: pcie, switches: 2, gpus_per_switch: 4}") ==
          "switches and gpus_per_switch say the same: leave one out");
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 2, inside: {kind: pcie, sockets: 2}") ==
          "more sockets than the 1 PCIe switches that hang on them");
}

TEST_CASE("an inside written out, inline or in a file") {
  const std::string node = "nodes: [{name: a, gpu: A100-PCIe-80GB, gpus_per_node: 2, inside: ";
  const Cluster c = build(node + "{" + kTwoListed + "]}}]");
  REQUIRE(Router(c).rings(c.gpus()).rings == 2);
  REQUIRE(link_named(c, "a.0.0>a.0.1#1").nominal.value == Approx(25e9));
  const Router router(c);
  REQUIRE(router.route(device_named(c, "a.0.0"), device_named(c, "a.0.cpu")).links.size() == 3);
  std::ofstream("inside.yaml") << kTwoListed << "]\n";
  const Cluster same = build(node + "inside.yaml}]");
  REQUIRE(same.vertices == c.vertices);
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 2, inside: nowhere.yaml") == "no file ./nowhere.yaml");
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 2, inside: nowhere.xml") == "nowhere.xml: no such file");
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 3, inside: {" + kTwoListed + "]}") == "no link leads to GPU 2");
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 1, inside: {" + kTwoListed + "]}").find("there is no GPU 1") == 0);
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 2, nics: 1, nic: 1 Gbps, inside: {" + kTwoListed + "]}") ==
          "no link leads to nic0");
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 1, inside: {links: [{between: [\"0\", s], bandwidth: 1 GB/s}]}") ==
          "no link leads to cpu, the host");
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 1, inside: {links: [{between: [\"0\", cpu], bandwidth: 1 GB/s, "
                        "transport: pcie9}]}")
              .find("no transport \"pcie9\"; did you mean") == 0);
  REQUIRE(node_mistakes("gpu: L4, gpus_per_node: 1, inside: {latency: 1 us}") == "needs kind or links");
}
