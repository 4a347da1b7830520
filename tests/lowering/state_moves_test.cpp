// Who holds which state, what a changed cluster fetches from whom, and how long that takes by hand.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "sim/lowering/transition.hpp"
#include "sim/units/error.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"
#include "tests/reference/reference_executor.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

constexpr Store kStore{.bandwidth = BytesPerSecond(1e9)};

/// `nodes` of one GPU with a host: PCIe 10 GB/s, network card 10 GB/s, DRAM 100 GB/s.
Cluster cluster_of(int nodes) {
  Cluster cluster = make_cluster({.nodes = nodes, .gpus_per_switch = 1});
  cluster.transports[1].family = "net";
  const auto vertex = [&](const std::string& name) {
    return id_at<VertexId>(std::size_t(std::ranges::find(cluster.vertices, name) - cluster.vertices.begin()));
  };
  for (int n = 0; n < nodes; ++n) {
    const VertexId socket = vertex(fmt::format("n.{}.socket", n)), card = vertex(fmt::format("n.{}.nic0", n));
    for (const auto& [from, to] : {std::pair(socket, card), std::pair(card, socket)})
      cluster.links.push_back({"card", from, to, BytesPerSecond(1e12), BytesPerSecond(1e12), {}, TransportId{0}});
  }
  return cluster;
}

/// Layers of 1 GB of weights and 6 GB of optimizer state.
Workload workload_of(int layers) {
  Workload workload = make_workload({.layers = layers, .parameters = 5e8});
  workload.optimizer = "adam";
  return workload;
}

Holdings held(const PlanShape& shape, const Cluster& cluster, const Workload& workload, int zero = 0) {
  Plan plan = make_plan(shape, cluster, workload);
  for (Stage& stage : plan.phases[0].parts[0].stages) stage.rules[0].settings.zero = zero;
  return holdings_of(plan, workload, cluster.devices.size());
}

Seconds time_of(const std::vector<StateMove>& moves, const Cluster& cluster) {
  RunOn on;
  return ReferenceExecutor().run(lower_moves(moves, cluster, Router(cluster), kStore), {}, on).makespan;
}

}  // namespace

TEST_CASE("holders of a layer keep what their axes say, and together all of it") {
  const Cluster cluster = cluster_of(4);
  const Workload workload = workload_of(4);
  const StateSizes sizes(workload);
  CHECK(sizes.total() == Bytes(4 * 7e9));
  const Holdings replicas = held({.stages = 2, .data = 2}, cluster, workload);
  for (const DeviceId gpu : cluster.gpus()) CHECK(sizes.of(replicas[index(gpu)]) == Bytes(2 * 7e9));
  const Holdings sharded = held({.stages = 2, .data = 2}, cluster, workload, 1);
  for (const DeviceId gpu : cluster.gpus()) CHECK(sizes.of(sharded[index(gpu)]) == Bytes(2 * (1e9 + 3e9)));
  const Holdings tensor = held({.tensor = 4}, cluster, workload);
  for (const DeviceId gpu : cluster.gpus()) CHECK(sizes.of(tensor[index(gpu)]) == Bytes(7e9));
  for (const Holdings& all : {replicas, sharded, tensor})
    CHECK(bytes_from(moves_to_store(all, SiteKind::device, sizes), SiteKind::device).value == Approx(sizes.total().value));
}

TEST_CASE("nobody fetches what it holds; a new device fetches from a replica") {
  const Cluster cluster = cluster_of(2);
  const Workload workload = workload_of(2);
  const StateSizes sizes(workload);
  const Holdings wanted = held({.data = 2}, cluster, workload);
  StateCopies now{wanted, {}, false};
  CHECK(moves_to(wanted, now, sizes, cluster)->empty());
  const DeviceId first = cluster.gpus()[0], second = cluster.gpus()[1];
  now.devices[index(second)].clear();
  const auto moves = moves_to(wanted, now, sizes, cluster);
  REQUIRE(moves->size() == 1);
  CHECK(moves->front() == StateMove{{SiteKind::device, first}, {SiteKind::device, second}, Bytes(14e9), LayerId{0}, LayerId{1}});
  CHECK(near(time_of(*moves, cluster), Seconds(1.4)));
}

TEST_CASE("what nobody holds comes from the store, else there is no way") {
  const Cluster cluster = cluster_of(2);
  const Workload workload = workload_of(2);
  const StateSizes sizes(workload);
  const Holdings wanted = held({.stages = 2}, cluster, workload);
  StateCopies now{wanted, {}, false};
  now.devices[index(cluster.gpus()[1])].clear();
  CHECK_FALSE(moves_to(wanted, now, sizes, cluster));
  now.in_store = true;
  const auto moves = moves_to(wanted, now, sizes, cluster);
  CHECK(bytes_from(*moves, SiteKind::store) == Bytes(7e9));
  CHECK(near(time_of(*moves, cluster), Seconds(7)));
}

TEST_CASE("after a step back every device reads its own host, a new one its neighbour's") {
  const Cluster cluster = cluster_of(4);
  const Workload workload = workload_of(2);
  const StateSizes sizes(workload);
  const Holdings wanted = held({.stages = 2, .data = 2}, cluster, workload);
  StateCopies now{{}, wanted, false};
  CHECK(near(time_of(*moves_to(wanted, now, sizes, cluster), cluster), Seconds(0.7)));
  const DeviceId last = cluster.gpus()[3];
  now.hosts[index(last)].clear();
  const auto moves = moves_to(wanted, now, sizes, cluster);
  REQUIRE(moves->size() == 4);
  CHECK(moves->back().from == Site{SiteKind::host, cluster.gpus()[2]});
}

TEST_CASE("equally near holders share the giving") {
  const Cluster cluster = cluster_of(4);
  const Workload workload = workload_of(4);
  const StateSizes sizes(workload);
  const Holdings wanted = held({.data = 4}, cluster, workload);
  StateCopies now{wanted, {}, false};
  now.devices[index(cluster.gpus()[3])].clear();
  const auto moves = moves_to(wanted, now, sizes, cluster);
  REQUIRE(moves->size() == 3);
  for (const StateMove& move : *moves) CHECK(move.bytes >= Bytes(7e9));
}

TEST_CASE("a shift of ZeRO's shards moves only the difference") {
  const Cluster cluster = cluster_of(4);
  const Workload workload = workload_of(1);
  const StateSizes sizes(workload);
  const Holdings two = held({.data = 2}, cluster_of(2), workload, 1), four = held({.data = 4}, cluster, workload, 1);
  StateCopies now{Holdings(cluster.devices.size()), {}, false};
  std::copy(two.begin(), two.end(), now.devices.begin());
  // Devices 0 and 1 held a half of 6 GB each: 0 keeps its quarter, 1 needs the second from 0, 2 and 3 theirs from 1, and all weights.
  Bytes moved{};
  const std::optional<std::vector<StateMove>> moves = moves_to(four, now, sizes, cluster);
  for (const StateMove& move : *moves) moved += move.bytes;
  CHECK(moved.value == Approx(3 * 1.5e9 + 2 * 1e9));
}

TEST_CASE("a checkpoint takes what the narrowest way takes, and needs a store") {
  const Cluster cluster = cluster_of(2);
  const Workload workload = workload_of(2);
  const StateSizes sizes(workload);
  const Holdings all = held({.stages = 2}, cluster, workload);
  CHECK(near(time_of(moves_to_hosts(all, sizes), cluster), Seconds(0.7)));
  const auto moves = moves_to_store(all, SiteKind::device, sizes);
  CHECK(near(time_of(moves, cluster), Seconds(14)));
  CHECK_THROWS_AS(lower_moves(moves, cluster, Router(cluster), Store{}), UserError);
  const TaskGraph limited = lower_moves(moves, cluster, Router(cluster), {.bandwidth = BytesPerSecond(1e9), .per_node = BytesPerSecond(1e8)});
  CHECK(problems(limited).empty());
  RunOn on;
  CHECK(near(ReferenceExecutor().run(limited, {}, on).makespan, Seconds(70)));
}
