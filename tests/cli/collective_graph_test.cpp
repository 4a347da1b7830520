// Collectives of a cluster in the engine, alone and where they meet.
#include <catch2/catch.hpp>

#include "sim/cli/collective_verb.hpp"
#include "sim/engine/workers.hpp"
#include "tests/topologies/build.hpp"

using namespace trainyard;
using trainyard::testing::build;

namespace {

struct Ran { double time, delay, bytes; };

/// All-reduces of these groups at once (GPUs by number); of the first, and when the last ended.
Ran together(const WorkerNursery& nursery, const Cluster& cluster, const std::vector<std::vector<int>>& groups, Bytes size) {
  const Router router(cluster);
  std::vector<PlacedCollective> collectives;
  Ran ran{};
  for (const auto& numbers : groups) {
    std::vector<DeviceId> members;
    for (const int number : numbers) members.push_back(cluster.gpus()[static_cast<std::size_t>(number)]);
    const CollectiveGroup group = collective_group(cluster, router, members, CollectiveKind::all_reduce);
    const CollectiveCost cost = collective_cost(group.shape, cluster.transports[index(group.transport)], size);
    collectives.push_back({group, cost});
    ran.delay = cost.delay.value;
    ran.bytes = cost.bytes.value;
  }
  const auto results = nursery.run({{collective_graph(cluster, collectives), {}, false}}, 1);
  ran.time = std::get<Timeline>(results.front()).makespan.value;
  return ran;
}

std::string nodes_of_one(int nodes, const std::string& oversubscription) {
  return "nodes: [{name: a, count: " + std::to_string(nodes) +
         ", gpu: A100-SXM4-80GB, gpus_per_node: 1, nics: 1, nic: 200 Gbps, transport: infiniband}]\n"
         "fabric: {kind: fat_tree, leaf: " + std::to_string(nodes / 2) + ", oversubscription: " + oversubscription + "}\n";
}

double ratio(const std::string& oversubscription) {
  const WorkerNursery nursery = WorkerNursery::start();
  const Cluster cluster = build(nodes_of_one(4, oversubscription));
  const Ran alone = together(nursery, cluster, {{0, 2}}, 1_GB), both = together(nursery, cluster, {{0, 2}, {1, 3}}, 1_GB);
  return (both.time - both.delay) / (alone.time - alone.delay);
}

}  // namespace

TEST_CASE("two all-reduces that meet on one up-link take twice as long") { CHECK(ratio("4") == Approx(2).epsilon(1e-6)); }

TEST_CASE("on a full-bisection fabric they do not meet") { CHECK(ratio("1") == Approx(1).epsilon(1e-6)); }

TEST_CASE("two InfiniBand islands joined by 10 Gbps: pairs inside an island against pairs across") {
  const WorkerNursery nursery = WorkerNursery::start();
  const Cluster cluster = build(nodes_of_one(8, "80"));  // 4 x 200 Gbps below a leaf, 10 Gbps above
  const Ran inside = together(nursery, cluster, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}, 1_GB);
  const Ran naive = together(nursery, cluster, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}, 1_GB);
  const double nic = testing::link_named(cluster, "a.0.nic0>fabric.leaf0").bandwidth.value;
  const double up = testing::link_named(cluster, "fabric.leaf0>fabric.core").bandwidth.value;
  CHECK(nic / up == Approx(20));
  CHECK(inside.time - inside.delay == Approx(inside.bytes / nic).epsilon(1e-6));
  CHECK(naive.time - naive.delay == Approx(4 * naive.bytes / up).epsilon(1e-6));
}
