// How bytes travel as a Plan's `wire` says: algorithms of collectives and the type of gradients, against closed forms.
#include <catch2/catch.hpp>

#include "sim/units/error.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// One layer of 8 M parameters (32 MB of fp32 gradients), 1 ms forward and 2 ms backward, over all GPUs; hops of 10 us.
struct WireCase {
  Cluster cluster;
  Workload workload;
  Plan plan;

  explicit WireCase(const ClusterShape& shape, const Wire& wire) : cluster(make_cluster(shape)) {
    const int gpus = shape.nodes * shape.gpus;
    workload = make_workload({.layers = 1, .batch = double(gpus), .parameters = 8e6});
    plan = make_plan({.data = gpus}, cluster, workload);
    settings().wire = wire;
  }

  Settings& settings() { return plan.phases[0].parts[0].stages[0].rules[0].settings; }
  Seconds step() const {
    CHECK(plan.check(cluster, workload) == std::vector<std::string>{});
    return run_plan(plan, workload, cluster, {}, 1).timeline.makespan;
  }
};

Wire reduced_by(Algorithm algorithm) { return {.types = {}, .transport = "", .share = 1, .all_reduce = algorithm, .all_gather = {}}; }
Wire gathered_by(Algorithm algorithm) { return {.types = {}, .transport = "", .share = 1, .all_reduce = {}, .all_gather = algorithm}; }

}  // namespace

TEST_CASE("ring against tree: 2(n-1)/n S in 2(n-1) hops, 2 S in 2 log2 n") {
  const ClusterShape eight{.nodes = 8, .hop_latency = 5_us};
  // 1.75 x 32 MB at 10 GB/s and 14 hops of 10 us; 2 x 32 MB and 6 hops.
  CHECK(near(WireCase(eight, reduced_by(Algorithm::ring)).step(), 3_ms + 5.6_ms + 140_us));
  CHECK(near(WireCase(eight, reduced_by(Algorithm::tree)).step(), 3_ms + 6.4_ms + 60_us));
  CHECK(near(WireCase(eight, {}).step(), WireCase(eight, reduced_by(Algorithm::ring)).step()));
}

TEST_CASE("hierarchical: scattered inside, added up between nodes, gathered inside") {
  const ClusterShape nodes{.nodes = 2, .gpus = 4, .inside = BytesPerSecond(48e9)};
  // Inside 2 x 3/4 x 32 MB at 48 GB/s; between two nodes 2 x 1/2 x 32 MB over 4 NICs of 10 GB/s.
  CHECK(near(WireCase(nodes, reduced_by(Algorithm::hierarchical)).step(), 3_ms + 1_ms + 0.8_ms));
  // With one GPU a node, or on one node, it is a ring.
  const ClusterShape apart{.nodes = 4}, together{.nodes = 1, .gpus = 4};
  for (const ClusterShape& flat : {apart, together})
    CHECK(near(WireCase(flat, reduced_by(Algorithm::hierarchical)).step(), WireCase(flat, reduced_by(Algorithm::ring)).step()));
}

TEST_CASE("in the network: every byte leaves a device once, and 1/n comes on top") {
  WireCase switched({.nodes = 4}, reduced_by(Algorithm::in_network));
  CHECK_THROWS_WITH(switched.step(), "no in-network all-reduce over net");
  switched.cluster.transports[1].in_network = AlgorithmTimes{.protocols = {Protocol{}}, .on_request = true};
  CHECK(near(switched.step(), 3_ms + 4_ms));
}

TEST_CASE("nodes with unequal numbers of members have no hierarchical all-reduce") {
  WireCase uneven({.nodes = 2, .gpus = 2}, reduced_by(Algorithm::hierarchical));
  uneven.plan.phases[0].parts[0].stages[0].devices.pop_back();
  uneven.settings().layout = Layout{equal_axis(AxisKind::data, 3)};
  uneven.workload.global_batch = uneven.plan.phases[0].parts[0].pipelines[0].batch = 3;
  CHECK_THROWS_WITH(uneven.step(), "no hierarchical all-reduce over net: it takes several nodes with equally many devices");
}

TEST_CASE("gradients in 16 bits take half the time of 32") {
  const ClusterShape two{.nodes = 2};
  CHECK(near(WireCase(two, {}).step(), 3_ms + 3.2_ms));
  CHECK(near(WireCase(two, {.types = {{State::gradients, DataType::bf16}}, .transport = {}}).step(), 3_ms + 1.6_ms));
}

TEST_CASE("weights in equal parts are gathered by padded rings or by broadcasts one after the other") {
  const auto step = [](Algorithm algorithm) {
    WireCase sharded({.nodes = 4}, gathered_by(algorithm));
    sharded.settings().zero = 1;
    return sharded.step();
  };
  // 32 MB scattered: 2.4 ms. 16 MB gathered: three quarters of them pass each port, or all in four broadcasts.
  CHECK(near(step(Algorithm::automatic), 3_ms + 2.4_ms + 1.2_ms));
  CHECK(near(step(Algorithm::padded), step(Algorithm::automatic)));
  CHECK(near(step(Algorithm::grouped), 3_ms + 2.4_ms + 1.6_ms));
}

TEST_CASE("tensor groups add up by the same algorithm") {
  const auto tensor = [](Algorithm algorithm) {
    const Cluster cluster = make_cluster({.gpus = 4});
    const Workload workload = make_workload({.layers = 1, .batch = 1, .output = 100_MB, .tensor_cut = true});
    Plan plan = make_plan({.tensor = 4}, cluster, workload);
    plan.phases[0].parts[0].stages[0].rules[0].settings.wire = reduced_by(algorithm);
    return run_plan(plan, workload, cluster).report.time.tensor;
  };
  // 1.5 and 2 times 100 MB at 100 GB/s forward; backward next to nothing.
  CHECK(tensor(Algorithm::ring).value == Approx(1.5e-3).epsilon(1e-4));
  CHECK(near(tensor(Algorithm::tree), tensor(Algorithm::ring) * (4.0 / 3)));
}

TEST_CASE("layers of one stage may travel differently") {
  WireCase mixed({.nodes = 4}, reduced_by(Algorithm::ring));
  mixed.workload = make_workload({.layers = 2, .batch = 4, .parameters = 8e6});
  mixed.plan = make_plan({.data = 4}, mixed.cluster, mixed.workload);
  mixed.plan.phases[0].parts[0].stages[0].rules.push_back({{LayerId(1)}, "", {}, {}});
  mixed.plan.phases[0].parts[0].stages[0].rules[1].settings.wire = reduced_by(Algorithm::tree);
  // 1.5 times 32 MB at 10 GB/s for one layer, 2 times for the other.
  CHECK(near(mixed.step(), 6_ms + 4.8_ms + 6.4_ms));
}
