// The graph as text and as a drawing, with bisections counted by hand.
#include <catch2/catch.hpp>

#include "sim/cli/explain_topology.hpp"
#include "sim/cli/import_verb.hpp"
#include "sim/units/error.hpp"
#include "topologies/topologies.hpp"

using namespace trainyard;

namespace {

/// One T4 and one NIC of 10 GB/s a node.
Cluster ones(int count, const std::string& fabric) {
  Diagnostics diagnostics;
  const ConfigValue section =
      read_yaml_text("nodes: [{name: t, gpu: T4, gpus_per_node: 1, nic: 80 Gbps, count: " + std::to_string(count) +
                         "}]\nfabric: {" + fabric + "}\n",
                     "cluster.yaml", diagnostics);
  check(section, cluster_schema(), diagnostics);
  Cluster cluster = build_cluster(section, ".", diagnostics);
  INFO(diagnostics.text());
  REQUIRE(diagnostics.empty());
  return cluster;
}

double bisection_of(int count, const std::string& fabric) { return bisection(ones(count, fabric)).value; }

}  // namespace

TEST_CASE("bisections by hand") {
  REQUIRE(bisection_of(8, "kind: star") == Approx(4 * 10e9));
  REQUIRE(bisection_of(8, "kind: fat_tree, leaf: 2") == Approx(4 * 10e9));
  REQUIRE(bisection_of(8, "kind: fat_tree, leaf: 2, oversubscription: 4") == Approx(2 * 2 * 10e9 / 4));
  REQUIRE(bisection_of(8, "kind: fat_tree, leaf: 2, pods: {leaves: 2, oversubscription: 2}") == Approx(4 * 10e9 / 2));
  // A ring of 8 is cut in two places; a grid of 4 x 4 with ends in four, with rings in eight.
  REQUIRE(bisection_of(8, "kind: torus, shape: [8]") == Approx(2 * 10e9));
  REQUIRE(bisection_of(16, "kind: torus, shape: [4, 4], wrap: false, bandwidth: 1 GB/s") == Approx(4e9));
  REQUIRE(bisection_of(16, "kind: torus, shape: [4, 4], bandwidth: 1 GB/s") == Approx(8e9));
  REQUIRE(bisection_of(1, "kind: star") == 0);
}

TEST_CASE("the topology as text") {
  const std::string text = topology_text(ones(4, "kind: fat_tree, leaf: 2, oversubscription: 2"));
  REQUIRE(text.find("topology: fat tree of 4 nodes, 2 under a leaf, 2 leaves, oversubscription 2\n") == 0);
  REQUIRE(text.find("  4 nodes, 4 GPUs, 4 NICs, 3 switches between nodes, ") != std::string::npos);
  REQUIRE(text.find("1: 2 switches, 40 GB/s from below, 20 GB/s upwards, oversubscription 2\n") != std::string::npos);
  REQUIRE(text.find("10 GB/s nominal, 50 % of what the first half's NICs send\n") != std::string::npos);
}

TEST_CASE("the topology for Graphviz") {
  const std::string dot = topology_dot(ones(2, "kind: star"));
  REQUIRE(dot.find("digraph cluster_of_gpus {") == 0);
  REQUIRE(dot.find("[label=\"t.1.nic0\", shape=cds]") != std::string::npos);
  REQUIRE(dot.find("[dir=none, label=\"10 GB/s\"]") != std::string::npos);
  REQUIRE(dot.ends_with("}\n"));
}

TEST_CASE("kinds of imports") {
  Arguments arguments;
  arguments.import_kind = "nccl-topolgy";
  REQUIRE_THROWS_WITH(import_text(arguments),
                      "trainyard import: no kind \"nccl-topolgy\"; did you mean \"nccl-topology\"?");
}
