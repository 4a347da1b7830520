#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("a node with NVSwitch: devices, ports and capacities") {
  const Cluster c = build("nodes: [{name: a100, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps}]");
  REQUIRE(c.nodes.size() == 1);
  REQUIRE(c.gpus().size() == 8);
  REQUIRE(c.devices.size() == 17);
  REQUIRE(c.devices[3].name == "a100.0.3");
  REQUIRE(c.devices[8].name == "a100.0.cpu");
  REQUIRE(c.devices[16].name == "a100.0.nic7");
  REQUIRE(links_with(c, "nvlink3") == 16);
  REQUIRE(links_with(c, "pcie4") == 3 * 16);
  const Link& port = link_named(c, "a100.0.3>a100.0.nvswitch");
  REQUIRE(port.nominal.value == 300e9);
  REQUIRE(port.bandwidth.value == Approx(224e9).epsilon(1e-3));
  REQUIRE(c.fabric == "none: one node");
  REQUIRE(c.type_of(DeviceId{0}).name == "A100-SXM4-80GB");
  REQUIRE(c.devices[0].memory == c.type_of(DeviceId{0}).memory);
}

TEST_CASE("the hybrid cube mesh: 24 links of 25 GB/s, six a GPU, one Link a direction") {
  const Cluster c = build("nodes: [{name: v100, gpu: V100-16, gpus_per_node: 8}]");
  REQUIRE(links_with(c, "nvlink2") == 48);
  std::vector<int> out(8, 0);
  for (const Link& link : c.links)
    if (transport_of(c, link).name == "nvlink2") {
      REQUIRE(link.nominal.value == 25e9);
      ++out.at(index(link.from));
    }
  REQUIRE(out == std::vector<int>(8, 6));
  link_named(c, "v100.0.0>v100.0.3#1");
}

TEST_CASE("a quad of the mesh has nine links") {
  REQUIRE(links_with(build("nodes: [{name: v, instance: aws.p3.8xlarge}]"), "nvlink2") == 18);
}

TEST_CASE("PCIe nodes: two GPUs a switch, two sockets") {
  const Cluster c = build("nodes: [{name: t4, gpu: T4, gpus_per_node: 4, nic: 50 Gbps}]");
  REQUIRE(c.gpus().size() == 4);
  // GPUs 4, switches to sockets 2, the NIC to both switches; each way.
  REQUIRE(links_with(c, "pcie3") == 2 * (4 + 2 + 2));
  link_named(c, "t4.0.3>t4.0.pcie1");
  link_named(c, "t4.0.pcie1>t4.0.socket1");
  link_named(c, "t4.0.socket0>t4.0.socket1");
  REQUIRE(link_named(c, "t4.0.0>t4.0.pcie0").bandwidth.value == Approx(12.4e9).epsilon(1e-3));
}

TEST_CASE("four GPUs under a switch") {
  const Cluster c = build("nodes: [{name: t4, gpu: T4, gpus_per_node: 8, inside: {kind: pcie, gpus_per_switch: 4}}]");
  REQUIRE(links_with(c, "pcie3") == 2 * (8 + 2));
  link_named(c, "t4.0.7>t4.0.pcie1");
}

TEST_CASE("links written out replace the catalogue's and get a transport of their own") {
  const Cluster c = build(
      "nodes:\n"
      "  - name: n\n"
      "    gpu: A100-80\n"
      "    gpus_per_node: 2\n"
      "    inside: {kind: nvswitch, bandwidth: 300 GB/s, latency: 1 us, efficiency: 1, setup: 0 s, step: 0 s, ramp: 0 "
      "s}\n"
      "    nic: {rate: 100 Gbps, efficiency: 1, setup: 1 us, step: 2 us, ramp: 3 us}\n"
      "    count: 2\n");
  const Link& port = link_named(c, "n.0.0>n.0.nvswitch");
  REQUIRE(port.bandwidth.value == 300e9);
  REQUIRE(port.latency.value == Approx(1e-6));
  REQUIRE(transport_of(c, port).name == "n.inside");
  REQUIRE(transport_of(c, port).setup.value == 0);
  const Link& nic = link_named(c, "n.1.nic0>fabric.switch");
  REQUIRE(nic.bandwidth.value == 12.5e9);
  REQUIRE(transport_of(c, nic).name == "n.nic");
  REQUIRE(transport_of(c, nic).step.value == Approx(2e-6));
}

TEST_CASE("an efficiency alone keeps the catalogue's transport") {
  const Cluster c = build("nodes: [{name: n, gpu: H100, gpus_per_node: 8, inside: {kind: nvswitch, efficiency: 0.5}}]");
  const Link& port = link_named(c, "n.0.0>n.0.nvswitch");
  REQUIRE(port.bandwidth.value == 225e9);
  REQUIRE(transport_of(c, port).name == "nvlink4");
}

TEST_CASE("an instance brings GPUs, NICs, host, market and price") {
  const Cluster c =
      build("nodes: [{name: a, instance: aws.p4d.24xlarge, market: spot, zone: us-east-1a, region: us-east-1}]");
  const Node& node = c.nodes[0];
  REQUIRE(node.instance == "aws.p4d.24xlarge");
  REQUIRE(node.market == MarketKind::spot);
  REQUIRE(in_dollars_per_hour(node.price) == Approx(8.12));
  REQUIRE(node.price_source.find("SkyPilot") != std::string::npos);
  REQUIRE(node.zone == "us-east-1a");
  REQUIRE(node.region == "us-east-1");
  REQUIRE(node.vendor == "NVIDIA");
  const Device& host = c.devices[index(device_named(c, "a.0.cpu"))];
  REQUIRE(host.memory.value == 1152 * 1073741824.0);
  device_named(c, "a.0.ssd");
  device_named(c, "a.0.nic3");
}

TEST_CASE("a price written down wins; none known is none, not free") {
  const Cluster written = build("nodes: [{name: a, instance: aws.p4d.24xlarge, price: 5 USD/h}]");
  REQUIRE(in_dollars_per_hour(written.nodes[0].price) == Approx(5));
  REQUIRE(written.nodes[0].price_source == "scenario");
  const Cluster unknown = build("nodes: [{name: a, instance: gcp.a2-highgpu-8g, market: reserved}]");
  REQUIRE(unknown.nodes[0].price.value == 0);
  REQUIRE(unknown.nodes[0].price_source.empty());
}

TEST_CASE("more NICs than GPUs are taken together") {
  const Cluster c = build("nodes: [{name: p5, instance: aws.p5.48xlarge, count: 2}]");
  const Link& nic = link_named(c, "p5.0.nic7>fabric.switch");
  REQUIRE(nic.nominal.value == 50e9);
  REQUIRE(nic.bandwidth.value == 40e9);
  REQUIRE(transport_of(c, nic).name == "efa2");
  REQUIRE(transport_of(c, nic).family == "efa");
}

TEST_CASE("host keys of the scenario win") {
  const Cluster c = build("nodes: [{name: a, gpu: A100-40, gpus_per_node: 8, host: {memory: 2 TiB, storage: 3 GB/s}}]");
  REQUIRE(c.devices[index(device_named(c, "a.0.cpu"))].memory.value == Approx(2 * 1099511627776.0));
  REQUIRE(link_named(c, "a.0.socket0>a.0.ssd").bandwidth.value == Approx(3e9));
}
