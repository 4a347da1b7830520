#include "tests/topologies/build.hpp"

using namespace trainyard;
using namespace trainyard::testing;

namespace {

std::string node_mistakes(const std::string& keys) { return mistakes("nodes: [{name: a, " + keys + "}]"); }

std::string fabric_mistakes(const std::string& keys) {
  return mistakes("nodes: [{name: a, gpu: T4, gpus_per_node: 1, nic: 10 Gbps, count: 2}]\nfabric: {" + keys + "}");
}

}  // namespace

TEST_CASE("names that no catalogue knows") {
  REQUIRE(node_mistakes("gpu: V100-SXM2-16GP, gpus_per_node: 8") ==
          "no GPU \"V100-SXM2-16GP\"; did you mean \"V100-SXM2-16GB\"?");
  REQUIRE(node_mistakes("instance: aws.p4d.24xlrage") ==
          "no instance \"aws.p4d.24xlrage\"; did you mean \"aws.p4d.24xlarge\"?");
  REQUIRE(node_mistakes("gpu: T4, gpus_per_node: 4, inside: pci") == "no inside \"pci\"; did you mean \"pcie\"?");
}

TEST_CASE("the place of a mistake is its value's") {
  Diagnostics diagnostics;
  build("nodes:\n  - name: a\n    gpu: V100-SXM2-16GP\n    gpus_per_node: 8\n", diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  REQUIRE(diagnostics.all()[0].place.line == 3);
  REQUIRE(diagnostics.all()[0].place.column == 10);
  REQUIRE(diagnostics.all()[0].place.path == "nodes[0].gpu");
}

TEST_CASE("what a node is: one of instance and gpu") {
  REQUIRE(node_mistakes("gpu: T4, instance: aws.p4d.24xlarge") ==
          "instance and gpu both say what the node is: leave one out");
  REQUIRE(node_mistakes("count: 1") == "needs an instance, or a gpu with gpus_per_node");
  REQUIRE(node_mistakes("gpu: T4") == "needs gpus_per_node beside gpu");
  REQUIRE(node_mistakes("instance: aws.p4d.24xlarge, gpus_per_node: 4") == "the instance aws.p4d.24xlarge has 8 GPUs");
}

TEST_CASE("names of groups") {
  const std::string rest = ", gpu: T4, gpus_per_node: 1}";
  REQUIRE(mistakes("nodes: [{name: a.b" + rest + "]") ==
          "\"a.b\" cannot name a group: letters, digits, - and _, not digits only");
  REQUIRE(mistakes("nodes: [{name: '12'" + rest + "]") ==
          "\"12\" cannot name a group: letters, digits, - and _, not digits only");
  REQUIRE(mistakes("nodes: [{name: a" + rest + ", {name: a" + rest + "]") == "another group is named \"a\" already");
}

TEST_CASE("insides that do not fit the GPUs") {
  REQUIRE(node_mistakes("gpu: A100-80, gpus_per_node: 8, inside: nvlink_mesh") ==
          "inside nvlink_mesh needs 4 or 8 GPUs with NVLink from GPU to GPU, such as V100-SXM2-16GB, not 8 x "
          "A100-SXM4-80GB");
  REQUIRE(node_mistakes("gpu: V100-16, gpus_per_node: 6, inside: nvlink_mesh") ==
          "inside nvlink_mesh needs 4 or 8 GPUs with NVLink from GPU to GPU, such as V100-SXM2-16GB, not 6 x "
          "V100-SXM2-16GB");
  REQUIRE(node_mistakes("gpu: T4, gpus_per_node: 4, inside: nvswitch") ==
          "inside nvswitch needs NVLink, which T4-16GB lacks; use pcie");
}

TEST_CASE("fabrics") {
  REQUIRE(fabric_mistakes("kind: fat_tree") == "fat_tree needs leaf: how many nodes are under one leaf switch");
  REQUIRE(fabric_mistakes("latency: 1 us") == "needs a kind, such as star or fat_tree");
  REQUIRE(fabric_mistakes("kind: star, leaf: 4") == "a star has no leaf");
}

TEST_CASE("numbers out of range and without unit are the schema's") {
  REQUIRE_FALSE(fabric_mistakes("kind: fat_tree, leaf: 0").empty());
  REQUIRE_FALSE(fabric_mistakes("kind: fat_tree, leaf: 4, oversubscription: 0").empty());
  REQUIRE_FALSE(node_mistakes("gpu: T4, gpus_per_node: 0").empty());
  REQUIRE_FALSE(node_mistakes("gpu: T4, gpus_per_node: 1025").empty());
  REQUIRE_FALSE(node_mistakes("gpu: T4, gpus_per_node: 1, price: 12.24").empty());
  REQUIRE_FALSE(node_mistakes("gpu: T4, gpus_per_node: 1, nic: 100").empty());
  REQUIRE_FALSE(node_mistakes("gpu: T4, gpus_per_node: 1, market: sport").empty());
  REQUIRE_FALSE(mistakes("nodes: []").empty());
}

TEST_CASE("nothing to train on, nothing to talk over") {
  REQUIRE(node_mistakes("gpu: T4, gpus_per_node: 1, count: 0") == "there are no nodes: every count is 0");
  REQUIRE(node_mistakes("gpu: T4, gpus_per_node: 1, count: 2") == "needs nics and nic: the cluster has 2 nodes");
  REQUIRE(node_mistakes("gpu: T4, gpus_per_node: 1, nics: 2") == "needs nic, the rate of one");
  REQUIRE(node_mistakes("gpu: T4, gpus_per_node: 1024, nic: 1 Gbps, count: 1000") ==
          "1024000 GPUs; at most 262144 are simulated");
}

TEST_CASE("all mistakes are told at once") {
  REQUIRE(
      mistakes(
          "nodes: [{name: a.b, gpu: T4}, {name: c, gpu: L4-24GP, gpus_per_node: 1}]\nfabric: {kind: star, leaf: 3}") ==
      "a star has no leaf\n"
      "\"a.b\" cannot name a group: letters, digits, - and _, not digits only\n"
      "needs gpus_per_node beside gpu\n"
      "no GPU \"L4-24GP\"; did you mean \"L4-24GB\"?");
}
