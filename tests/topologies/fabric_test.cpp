#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("without a fabric, several nodes are a star, and the cluster says so") {
  const Cluster c = build("nodes: [{name: a, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps, count: 3}]");
  REQUIRE(c.fabric == "star of 3 nodes (assumed: the cluster names no fabric)");
  REQUIRE(links_with(c, "infiniband") == 3 * 8 * 2);
  REQUIRE(link_named(c, "a.2.nic7>fabric.switch").bandwidth.value == Approx(25e9 * 0.63));
}

TEST_CASE("groups with no nodes are left out, in the order written") {
  const Cluster c = build(
      "nodes:\n"
      "  - {name: none, gpu: T4, gpus_per_node: 4, count: 0}\n"
      "  - {name: b, gpu: H100, gpus_per_node: 8, nics: 8, nic: 400 Gbps, count: 1}\n"
      "  - {name: a, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps, count: 1}\n"
      "fabric: {kind: star}\n");
  REQUIRE(c.nodes.size() == 2);
  REQUIRE(c.nodes[0].group == "b");
  REQUIRE(c.gpus().size() == 16);
  REQUIRE(c.fabric == "star of 2 nodes");
  for (const DeviceType& type : c.device_types) REQUIRE(type.name != "T4-16GB");
}

TEST_CASE("fat tree: leaves, and up-links of leaf x NICs / oversubscription") {
  const Cluster c = build(
      "nodes: [{name: a, gpu: A100-80, gpus_per_node: 8, nics: 4, nic: 200 Gbps, count: 5}]\n"
      "fabric: {kind: fat_tree, leaf: 2, oversubscription: 2, latency: 1 us}\n");
  REQUIRE(c.fabric == "fat tree of 5 nodes, 2 under a leaf, 3 leaves, oversubscription 2");
  // 5 nodes x 4 NICs and 3 leaves, each way.
  REQUIRE(links_with(c, "infiniband") == 2 * (20 + 3));
  link_named(c, "a.2.nic0>fabric.leaf1");
  for (const char* name : {"fabric.leaf0>fabric.core", "fabric.core>fabric.leaf2"}) {
    const Link& up = link_named(c, name);
    REQUIRE(up.nominal.value == Approx(2 * 4 * 25e9 / 2));
    REQUIRE(up.bandwidth.value == Approx(2 * 4 * 25e9 / 2 * 0.63));
    REQUIRE(up.latency.value == Approx(1e-6));
  }
  REQUIRE(link_named(c, "a.0.nic0>fabric.leaf0").latency.value == Approx(1e-6));
  REQUIRE(link_named(c, "a.0.0>a.0.pcie0").latency.value == 0);
}

TEST_CASE("nodes of two groups share a leaf in file order; its up-link takes the mean of their NICs") {
  const Cluster c = build(
      "nodes:\n"
      "  - {name: a, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps}\n"
      "  - {name: v, gpu: V100-16, gpus_per_node: 8, nics: 1, nic: 100 Gbps}\n"
      "fabric: {kind: fat_tree, leaf: 4}\n");
  REQUIRE(link_named(c, "fabric.leaf0>fabric.core").nominal.value == Approx(4 * (200e9 + 12.5e9) / 2));
}

TEST_CASE("the transport: the node's own, then the fabric's, then the instance's") {
  const std::string nodes =
      "nodes: [{name: a, instance: aws.p4d.24xlarge, count: 2}, {name: b, gpu: A100-80, gpus_per_node: 8, nic: 100 "
      "Gbps, transport: roce}]\n";
  const Cluster own = build(nodes);
  REQUIRE(transport_of(own, link_named(own, "a.0.nic0>fabric.switch")).name == "efa");
  REQUIRE(transport_of(own, link_named(own, "b.0.nic0>fabric.switch")).name == "roce");
  const Cluster fabric = build(nodes + "fabric: {kind: star, transport: ethernet}\n");
  const Transport& ethernet = transport_of(fabric, link_named(fabric, "a.0.nic0>fabric.switch"));
  REQUIRE(ethernet.name == "ethernet");
  REQUIRE_FALSE(ethernet.direct_memory);
  REQUIRE(transport_of(fabric, link_named(fabric, "b.0.nic0>fabric.switch")).name == "roce");
}

TEST_CASE("equal text gives equal clusters") {
  const std::string text =
      "nodes: [{name: a, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps, count: 4}]\n"
      "fabric: {kind: fat_tree, leaf: 2}\n";
  const Cluster one = build(text), two = build(text);
  REQUIRE(one.vertices == two.vertices);
  REQUIRE(one.links.size() == two.links.size());
  for (std::size_t i = 0; i < one.links.size(); ++i)
    REQUIRE(one.name_of(id_at<LinkId>(i)) == two.name_of(id_at<LinkId>(i)));
}
