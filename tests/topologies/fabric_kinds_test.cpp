// Every fabric by hand counts, bisections and routes.
#include <chrono>
#include <fstream>

#include "sim/routing/router.hpp"
#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

namespace {

using Names = std::vector<std::string>;

Names way(const Cluster& cluster, const Router& router, const std::string& from, const std::string& to) {
  Names names;
  for (LinkId link : router.route(device_named(cluster, from), device_named(cluster, to)).links)
    names.push_back(cluster.vertices[index(cluster.links[index(link)].to)]);
  return names;
}

/// 8 H100 and 8 NICs of 400 Gbps a node.
std::string eights(int count, const std::string& fabric) {
  return "nodes: [{name: a, gpu: H100, gpus_per_node: 8, nics: 8, nic: 400 Gbps, count: " + std::to_string(count) +
         "}]\nfabric: {" + fabric + "}\n";
}

/// One T4 and one NIC of 80 Gbps (10 GB/s) a node.
std::string ones(int count, const std::string& fabric) {
  return "nodes: [{name: t, gpu: T4, gpus_per_node: 1, nic: 80 Gbps, count: " + std::to_string(count) +
         "}]\nfabric: {" + fabric + "}\n";
}

std::ptrdiff_t vertices_with(const Cluster& cluster, const std::string& part) {
  return std::count_if(cluster.vertices.begin(), cluster.vertices.end(),
                       [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

/// Nominal bytes/s from vertices that `in` accepts to others.
template <class In>
double across(const Cluster& cluster, const In& in) {
  double sum = 0;
  for (const Link& link : cluster.links)
    if (in(cluster.vertices[index(link.from)]) && !in(cluster.vertices[index(link.to)])) sum += link.nominal.value;
  return sum;
}

int times_of(const Cluster& cluster, const RingUse& use, const std::string& link) {
  for (auto [id, times] : use.links)
    if (cluster.name_of(id) == link) return times;
  return 0;
}

std::string fabric_mistakes(const std::string& keys) { return mistakes(ones(2, keys)); }

}  // namespace

TEST_CASE("rails: NIC i of every node at rail i, up-links of a rail's NICs / oversubscription") {
  const Cluster c = build(eights(4, "kind: rail, leaf: 2, oversubscription: 2"));
  REQUIRE(vertices_with(c, "fabric.unit") == 2 * 8);
  REQUIRE(link_named(c, "fabric.unit1.rail3>fabric.spine").nominal.value == Approx(2 * 50e9 / 2));
  link_named(c, "a.2.nic5>fabric.unit1.rail5");
  const Router router(c);
  REQUIRE(way(c, router, "a.0.3", "a.1.3") ==
          Names{"a.0.pcie3", "a.0.nic3", "fabric.unit0.rail3", "a.1.nic3", "a.1.pcie3", "a.1.3"});
  REQUIRE(way(c, router, "a.0.3", "a.2.4") == Names{"a.0.pcie3", "a.0.nic3", "fabric.unit0.rail3", "fabric.spine",
                                                    "fabric.unit1.rail4", "a.2.nic4", "a.2.pcie4", "a.2.4"});
}

TEST_CASE("switches with hundreds of NICs: ways up and across, between every two places") {
  for (const char* fabric : {"kind: fat_tree, leaf: 32", "kind: rail, leaf: 32", "kind: dragonfly, leaf: 8, group: 4",
                             "kind: rail", "kind: star", "kind: rail_only"}) {
    INFO(fabric);
    const Cluster c = build(eights(96, fabric));
    const Router router(c);
    const std::size_t expected = std::string(fabric).find("leaf: 32") != std::string::npos ? 8 : 6;
    REQUIRE(router.route(device_named(c, "a.3.5"), device_named(c, "a.70.5")).links.size() >= expected);
    REQUIRE(router.route(device_named(c, "a.3.5"), device_named(c, "a.70.5")).links.size() <= 9);
    REQUIRE(router.route(device_named(c, "a.95.0"), device_named(c, "a.0.7")).links.size() <= 9);
    REQUIRE(router.route(device_named(c, "a.3.5"), device_named(c, "a.4.5")).links.size() == 6);
    REQUIRE(router.rings(c.gpus()).rings == 8);
  }
}

TEST_CASE("a group of one GPU a node stays on its rail") {
  const Cluster c = build(eights(4, "kind: rail"));
  const RingUse use = Router(c).rings(
      std::vector<DeviceId>{device_named(c, "a.0.5"), device_named(c, "a.1.5"), device_named(c, "a.2.5")});
  REQUIRE(use.rings == 1);
  REQUIRE(use.nodes == 3);
  REQUIRE(use.links.size() == 3 * 6);  // up and down: slot, NIC's slot, NIC
  for (int node = 0; node < 3; ++node)
    REQUIRE(times_of(c, use, "a." + std::to_string(node) + ".nic5>fabric.rail5") == 1);
  REQUIRE(times_of(c, use, "fabric.rail5>fabric.spine") == 0);
}

TEST_CASE("rails without a spine: from rail to rail over NVLink inside the sender's node") {
  const Cluster c = build(eights(4, "kind: rail_only"));
  REQUIRE(vertices_with(c, "fabric.") == 8);
  const Router router(c);
  REQUIRE(way(c, router, "a.0.0", "a.1.1") ==
          Names{"a.0.nvswitch", "a.0.1", "a.0.pcie1", "a.0.nic1", "fabric.rail1", "a.1.nic1", "a.1.pcie1", "a.1.1"});
  REQUIRE(way(c, router, "a.0.0", "a.1.0").size() == 6);
  const RingUse all = router.rings(c.gpus());
  REQUIRE(all.rings == 8);
  REQUIRE(times_of(c, all, "a.3.nic7>fabric.rail7") == 1);
  const RingUse crossed =
      router.rings(std::vector<DeviceId>{device_named(c, "a.0.0"), device_named(c, "a.1.1"), device_named(c, "a.2.0")});
  REQUIRE(times_of(c, crossed, "a.0.nic1>fabric.rail1") == 1);
}

TEST_CASE("three tiers: pods of leaves, oversubscribed between them") {
  const Cluster c = build(eights(8, "kind: fat_tree, leaf: 2, pods: {leaves: 2, oversubscription: 4}"));
  REQUIRE(c.fabric ==
          "fat tree of 8 nodes, 2 under a leaf, 4 leaves, oversubscription 1, 2 pods of 2 leaves, oversubscription 4 "
          "between them");
  REQUIRE(link_named(c, "fabric.pod1.leaf0>fabric.pod1").nominal.value == Approx(2 * 8 * 50e9));
  REQUIRE(link_named(c, "fabric.pod0>fabric.core").nominal.value == Approx(4 * 8 * 50e9 / 4));
  const Router router(c);
  REQUIRE(way(c, router, "a.0.0", "a.2.0").size() == 8);
  REQUIRE(way(c, router, "a.0.0", "a.4.0").size() == 10);
}

TEST_CASE("torus: links, ends and bisection") {
  const Cluster ring = build(ones(12, "kind: torus, shape: [3, 4], bandwidth: 10 GB/s"));
  // 3 rings of 4 along the last axis and 4 rings of 3: 24 links, each way, besides the NICs' 24.
  REQUIRE(links_with(ring, "infiniband") == 2 * 24 + 2 * 12);
  // Cutting the axis of 4 in the middle severs 2 links in each of 3 rings.
  REQUIRE(across(ring, [](const std::string& v) {
            return v.starts_with("fabric.") && (v.ends_with("-0") || v.ends_with("-1"));
          }) == Approx(3 * 2 * 10e9 + 6 * 10e9));
  const Cluster open = build(ones(12, "kind: torus, shape: [3, 4], wrap: false"));
  REQUIRE(links_with(open, "infiniband") == 2 * (3 * 3 + 4 * 2) + 2 * 12);
  const Router router(ring);
  REQUIRE(way(ring, router, "t.0.0", "t.3.0") ==
          Names{"t.0.pcie0", "t.0.nic0", "fabric.0-0", "fabric.0-3", "t.3.nic0", "t.3.pcie0", "t.3.0"});
  REQUIRE(build(ones(8, "kind: torus, shape: [2, 2, 2]")).links.size() ==
          build(ones(8, "kind: torus, shape: [2, 2, 2], wrap: false")).links.size());
  REQUIRE(fabric_mistakes("kind: torus, shape: [1]") == "a torus 1 has 1 places for 2 nodes");
}

TEST_CASE("dragonfly: all routers of a group, one link between every two groups") {
  const Cluster c = build(ones(36, "kind: dragonfly, leaf: 2, group: 6"));  // three groups of 6 routers of 2 nodes
  REQUIRE(vertices_with(c, "router") == 18);
  REQUIRE(links_with(c, "infiniband") == 2 * (36 + 3 * 15 + 3));
  const double between = across(c, [](const std::string& v) { return v.starts_with("fabric.group0."); });
  REQUIRE(between == Approx(12 * 10e9 + 2 * (12 * 10e9 / 2)));  // to its own nodes, and to two groups
  const Router router(c);
  REQUIRE(way(c, router, "t.0.0", "t.2.0").size() == 7);
  for (int far : {12, 24, 35}) REQUIRE(way(c, router, "t.0.0", "t." + std::to_string(far) + ".0").size() <= 9);
}

TEST_CASE("regions: ways between them are shared, or each node's own; only TCP crosses") {
  const std::string nodes =
      "nodes:\n"
      "  - {name: w, gpu: T4, gpus_per_node: 1, nic: 80 Gbps, count: 3, region: oregon}\n"
      "  - {name: e, gpu: T4, gpus_per_node: 1, nic: 80 Gbps, count: 2, region: ohio}\n";
  const Cluster shared = build(nodes + "fabric: {kind: regions, wan: {bandwidth: 10 Gbps, latency: 30 ms}}\n");
  REQUIRE(link_named(shared, "fabric.oregon>fabric.ohio").bandwidth.value == Approx(1.25e9));
  const Router router(shared);
  const Route& far = router.route(device_named(shared, "w.0.0"), device_named(shared, "e.1.0"));
  REQUIRE(far.latency.value == Approx(0.03));
  REQUIRE(shared.transports[index(router.transport_of(far))].name == "ethernet");
  const Route& near = router.route(device_named(shared, "w.0.0"), device_named(shared, "w.1.0"));
  REQUIRE(shared.transports[index(router.transport_of(near))].name == "infiniband");

  const Cluster own = build(nodes + "fabric: {kind: dt-fm-worldwide}\n");
  REQUIRE(own.fabric.starts_with("dt-fm-worldwide: regions"));
  const Router apart(own);
  for (const char* from : {"w.0.0", "w.2.0"}) {
    const Route& route = apart.route(device_named(own, from), device_named(own, "e.0.0"));
    REQUIRE(route.bottleneck.value == Approx(1.10e9 / 8));
    REQUIRE(route.latency.value == Approx(0.049));
  }
  REQUIRE(across(own, [](const std::string& v) { return v.starts_with("fabric.gate"); }) ==
          Approx(5 * (1.1e9 / 8 + 2 * 10e9)));
  REQUIRE(
      mistakes(nodes +
               "fabric: {kind: dt-fm-us, matrix: [{between: [ohio, virginia], bandwidth: 1 Gbps, latency: 1 ms}]}") ==
      "no way between the regions oregon and ohio: add it to matrix, or wan for all");
  REQUIRE(fabric_mistakes("kind: dt-fm-us") == "regions: every group of nodes needs a region");
}

TEST_CASE("cards of unlike families speak TCP, all of a ring as soon as one hop does") {
  const Cluster c = build(
      "nodes:\n"
      "  - {name: ib, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps, count: 2}\n"
      "  - {name: ro, gpu: A100-80, gpus_per_node: 8, nics: 8, nic: 200 Gbps, count: 2, transport: roce}\n"
      "fabric: {kind: star}\n");
  const Router router(c);
  const auto transport = [&](const std::vector<std::string>& names) {
    std::vector<DeviceId> members;
    for (const std::string& name : names) members.push_back(device_named(c, name));
    return c.transports[index(router.rings(members).transport)].name;
  };
  REQUIRE(transport({"ib.0.0", "ib.1.0"}) == "infiniband");
  REQUIRE(transport({"ro.0.0", "ro.1.0"}) == "roce");
  REQUIRE(transport({"ib.0.0", "ib.1.0", "ro.0.0"}) == "ethernet");
  REQUIRE(transport({"ib.0.0", "ib.0.1"}) == "nvlink3");
  const Route& mixed = router.route(device_named(c, "ib.0.0"), device_named(c, "ro.0.0"));
  REQUIRE(c.transports[index(router.transport_of(mixed))].name == "ethernet");
}

TEST_CASE("measured rates: links by name, or a matrix in the switch's place") {
  const Cluster c = build(eights(4,
                                 "kind: fat_tree, leaf: 2, measured: [{link: \"fabric.leaf0>fabric.core\", bandwidth: "
                                 "300 Gbps, latency: 2 us}]"));
  REQUIRE(link_named(c, "fabric.leaf0>fabric.core").bandwidth.value == Approx(37.5e9));
  REQUIRE(link_named(c, "fabric.leaf0>fabric.core").latency.value == Approx(2e-6));
  REQUIRE(link_named(c, "fabric.core>fabric.leaf0").bandwidth.value == Approx(2 * 8 * 50e9 * 0.8));
  REQUIRE(fabric_mistakes("kind: star, measured: [{link: x>y, bandwidth: 1 Gbps}]") ==
          "no link \"x>y\"; `trainyard explain --dot FILE` writes all names");
  std::ofstream("matrix.txt") << "# Gbps\n0, 10, 20\n30 0 40\n50\t60\t-\n";
  REQUIRE(mistakes(ones(3, "kind: star, measured: matrix.txt")) ==
          "./matrix.txt: line 4 holds something other than numbers");
  std::ofstream("matrix.txt") << "# Gbps\n0, 10, 20\n30 0 40\n50\t60\t0\n";
  const Cluster m = build(ones(3, "kind: star, measured: matrix.txt"));
  const Router router(m);
  REQUIRE(router.route(device_named(m, "t.2.0"), device_named(m, "t.0.0")).bottleneck.value == Approx(50e9 / 8));
  REQUIRE(router.route(device_named(m, "t.0.0"), device_named(m, "t.1.0")).bottleneck.value == Approx(10e9 / 8));
  REQUIRE(mistakes(ones(2, "kind: star, measured: matrix.txt")) == "measured: the matrix has 3 rows for 2 nodes");
  std::ofstream("matrix.txt") << "1 2\n3\n";
  REQUIRE(mistakes(ones(2, "kind: star, measured: matrix.txt")) ==
          "./matrix.txt: row 2 has 1 numbers, and there are 2 rows");
  REQUIRE(mistakes(ones(2, "kind: star, measured: nowhere.txt")) == "no file ./nowhere.txt");
}

TEST_CASE("links written out") {
  const Cluster c = build(ones(2,
                               "links: [{between: [t.0.nic0, s], bandwidth: 80 Gbps, count: 2}, {between: [s, "
                               "t.1.nic0], bandwidth: 40 Gbps, latency: 5 us}]"));
  REQUIRE(link_named(c, "t.0.nic0>fabric.s").nominal.value == Approx(20e9));
  const Router router(c);
  REQUIRE(router.route(device_named(c, "t.0.0"), device_named(c, "t.1.0")).latency.value == Approx(5e-6));
  REQUIRE(fabric_mistakes("links: [{between: [t.0.nic0, s], bandwidth: 80 Gbps}]") ==
          "links: 1 of 2 NICs are joined to nothing; a NIC is GROUP.NODE.nicN");
  REQUIRE(fabric_mistakes("links: [{between: [s, s], bandwidth: 80 Gbps}]") ==
          "a link joins two places, not one with itself");
}

TEST_CASE("unequal groups side by side") {
  const Cluster c = build(
      "nodes:\n"
      "  - {name: four, gpu: A100-80, gpus_per_node: 4, nics: 4, nic: 200 Gbps, count: 2}\n"
      "  - {name: six, gpu: H100, gpus_per_node: 6, nics: 6, nic: 400 Gbps, count: 2, inside: pcie}\n"
      "fabric: {kind: rail}\n");
  REQUIRE(c.gpus().size() == 20);
  REQUIRE(vertices_with(c, "fabric.rail") == 6);
  REQUIRE(link_named(c, "fabric.rail0>fabric.spine").nominal.value == Approx(2 * 25e9 + 2 * 50e9));
  REQUIRE(link_named(c, "fabric.rail5>fabric.spine").nominal.value == Approx(2 * 50e9));
  REQUIRE(Router(c).rings(c.gpus()).rings == 6);
}

TEST_CASE("what fabrics do not have, and what is missing") {
  REQUIRE(fabric_mistakes("kind: rail_only, oversubscription: 2") == "a rail_only has no oversubscription");
  REQUIRE(fabric_mistakes("kind: torus") == "torus needs shape, such as [4, 4, 4]");
  REQUIRE(fabric_mistakes("kind: dragonfly, leaf: 2") ==
          "dragonfly needs leaf, the nodes on one router, and group, the routers of one group");
  REQUIRE(fabric_mistakes("kind: regions") == "regions needs matrix, ways between regions, or wan, the same for all");
  REQUIRE(fabric_mistakes("kind: star, changes: [{factor: 0.5}]") ==
          "a change names a link, or between, the two ends of links both ways");
  REQUIRE(fabric_mistakes("kind: star, changes: [{link: a>b, factor: 0.5}]") ==
          "no link \"a>b\"; `trainyard explain --dot FILE` writes all names");
  REQUIRE(fabric_mistakes("import: nowhere.yaml") == "no file ./nowhere.yaml");
  REQUIRE(fabric_mistakes("import: platform.xml") ==
          "an XML file is no fabric: `trainyard import simgrid platform.xml` makes one of it");
  REQUIRE_FALSE(fabric_mistakes("kind: fat_treee").empty());
}

TEST_CASE("a fabric in a file of its own, whose keys the scenario may replace") {
  std::ofstream("fabric.yaml") << "kind: fat_tree\nleaf: 4\noversubscription: 3\n";
  REQUIRE(build(ones(8, "import: fabric.yaml, oversubscription: 2")).fabric ==
          "fat tree of 8 nodes, 4 under a leaf, 2 leaves, oversubscription 2");
  REQUIRE(build(eights(64, "kind: dgx-h100-rail, oversubscription: 2")).fabric ==
          "dgx-h100-rail: rails of 64 nodes, 32 to a rail switch, joined by a spine, oversubscription 2");
}

TEST_CASE("every fabric of the catalogue is built") {
  for (const CatalogueEntry& entry : fabric_catalogue()) {
    if (entry.name == "links" || entry.name.find("dt-fm") == 0) continue;
    std::string keys = "kind: " + entry.name;
    if (entry.name == "fat_tree") keys += ", leaf: 4";
    if (entry.name == "dragonfly") keys += ", leaf: 2, group: 2";
    if (entry.name == "torus") keys += ", shape: [4, 4]";
    if (entry.name == "regions") keys = "kind: regions, wan: {bandwidth: 1 Gbps, latency: 1 ms}";
    INFO(entry.name);
    std::string text = eights(16, keys);
    if (entry.name == "regions") text.replace(text.find("count"), 0, "region: here, ");
    const Cluster c = build(text);
    REQUIRE(Router(c).route(device_named(c, "a.0.0"), device_named(c, "a.15.7")).bottleneck.value > 0);
  }
}
