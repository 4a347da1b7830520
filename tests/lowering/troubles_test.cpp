// Stragglers, jitter, links that change or die, devices that fail: closed forms, and what is said when a step cannot end.
#include <catch2/catch.hpp>

#include <cmath>

#include "sim/lowering/jitter_draws.hpp"
#include "sim/lowering/scramble.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

LinkId link_named(const Cluster& cluster, const std::string& name) {
  for (std::size_t l = 0; l < cluster.links.size(); ++l)
    if (cluster.links[l].name == name) return id_at<LinkId>(l);
  FAIL("no link " << name);
  return {};
}

/// Two nodes of one GPU, two replicas: 48 ms of computing, then 4 GB of gradients at 10 GB/s.
struct TwoReplicas {
  Cluster cluster = make_cluster({.nodes = 2, .gpus = 1});
  Workload workload = make_workload({.layers = 4, .batch = 8, .parameters = 2.5e8});
  Plan plan = make_plan({.data = 2, .micro_batches = 4}, cluster, workload);
  RunResult run(int steps = 2) const { return run_plan(plan, workload, cluster, {}, steps); }
};

}  // namespace

TEST_CASE("a straggler sets the pace of its pipeline") {
  Cluster cluster = make_cluster({.nodes = 1, .gpus = 2});
  const Workload workload = make_workload({.layers = 4, .batch = 4});
  const Plan plan = make_plan({.stages = 2, .micro_batches = 4, .schedule = "gpipe"}, cluster, workload);
  cluster.devices[1].slowdown = 1.5;
  // Stage 0: 2 ms and 4 ms, stage 1: 3 ms and 6 ms a micro-batch.
  CHECK(near(run_plan(plan, workload, cluster).report.step_time, Seconds((2 + 4 * 3 + 4 * 6 + 4) * 1e-3)));
}

TEST_CASE("a straggler holds up its tensor group") {
  Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  const Workload workload = make_workload({.layers = 4, .batch = 4, .tensor_cut = true});
  const Plan plan = make_plan({.tensor = 4, .micro_batches = 4}, cluster, workload);
  const Seconds before = run_plan(plan, workload, cluster).report.step_time;
  cluster.devices[2].slowdown = 1.25;
  const double exchanges = 4 * 4 * 1.5 * 2048 / 100e9;  // 1024 columns of 2 bytes for each micro-batch and layer, 2(n-1)/n times
  CHECK(run_plan(plan, workload, cluster).report.step_time.value == Approx((before.value - exchanges) * 1.25 + exchanges).epsilon(1e-9));
}

TEST_CASE("a factor of jitter has mean 1 and the wanted deviation") {
  double sum = 0, squares = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double factor = jitter_factor(0.2, scramble(std::uint64_t(i)));
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / kDraws;
  CHECK(mean == Approx(1).margin(0.002));
  CHECK(std::sqrt(squares / kDraws - mean * mean) == Approx(0.2).margin(0.002));
  CHECK(jitter_factor(0, 7) == 1);
}

TEST_CASE("jitter: the same seed gives the same step, another seed another") {
  const TwoReplicas two;
  const auto step = [&](std::uint64_t seed, bool per_device) {
    return run_plan(two.plan, two.workload, two.cluster, {.jitter = {.kernels = 0.1, .communication = 0.1, .per_device = per_device, .seed = seed}}).report;
  };
  CHECK(step(1, false).step_time == step(1, false).step_time);
  CHECK(step(1, false).step_time != step(2, false).step_time);
  CHECK(step(1, false).device_classes == 1);
  CHECK(step(1, true).device_classes == 2);
}

TEST_CASE("jitter per device: one group in lock step waits for the slowest draw, alone or not") {
  const Cluster cluster = make_cluster({.nodes = 1, .gpus = 8});
  const Workload workload = make_workload({.layers = 64, .batch = 64, .tensor_cut = true});
  const Plan plan = make_plan({.tensor = 8, .micro_batches = 64}, cluster, workload);
  const auto step = [&](const Jitter& jitter) { return run_plan(plan, workload, cluster, {.jitter = jitter}).report.step_time; };
  const double ratio = step({.kernels = 0.1, .per_device = true}) / step({});
  // The mean of the greatest of 8 normal draws is 1.4236 (Harter 1961); 128 operations average it to within some 0.02.
  CHECK(ratio == Approx(1 + 0.1 * 1.4236).margin(0.02));
}

TEST_CASE("a link that halves while gradients travel: what is left takes twice as long") {
  TwoReplicas two;
  CHECK(near(two.run().report.first_step_time, Seconds(0.048 + 0.4)));
  two.cluster.events = {{Seconds(0.248), LinkChange{link_named(two.cluster, "n.0.nic0 up"), 0.5}}};
  const RunResult result = two.run(3);
  CHECK(near(result.report.first_step_time, Seconds(0.248 + 2.0 / 5)));
  CHECK(result.report.step_time.value == Approx(0.048 + 4.0 / 5).epsilon(1e-9));
  CHECK(result.lowered.events.size() == 1);
}

namespace {

/// Two replicas of two layers whose gradients travel layer by layer, 1 ms each, beside the backward pass, 2 ms each.
struct Overlapping {
  Cluster cluster = make_cluster({.nodes = 2, .gpus = 1});
  Workload workload = make_workload({.layers = 2, .batch = 2, .parameters = 25e5});
  Seconds first_step() {
    workload.software.overlap_gradient_reduce = true;
    Plan plan = make_plan({.data = 2, .micro_batches = 1}, cluster, workload);
    plan.phases[0].parts[0].stages[0].rules[0].settings.sync = Sync{.bucket = Bytes(1)};
    return run_plan(plan, workload, cluster).report.first_step_time;
  }
};

}  // namespace

TEST_CASE("a collective slows the kernels beside it by its share of the device") {
  Overlapping two;
  CHECK(near(two.first_step(), 7_ms));
  for (DeviceType& type : two.cluster.device_types) type.collective_share = 0.25;
  CHECK(two.first_step().value == Approx(7.25e-3).epsilon(1e-9));  // 0.75 ms of work in the first millisecond
}

TEST_CASE("kernels leave to the collectives beside them what their class says") {
  Overlapping two;
  for (DeviceType& type : two.cluster.device_types) type.interference = {{OperatorClass::memory_bound, 0.4}};
  CHECK(two.first_step().value == Approx(7.2e-3).epsilon(1e-9));   // 8 of 10 MB beside the second layer, 2 after it, then its own 10
  for (DeviceType& type : two.cluster.device_types) type.interference = {{OperatorClass::gemm, 0.4}};
  CHECK(near(two.first_step(), 7_ms));
}

TEST_CASE("a link that dies: the message names the collective, its members and the link") {
  TwoReplicas two;
  two.cluster.events = {{Seconds(0.2), LinkChange{link_named(two.cluster, "n.0.nic0 up"), 0}}};
  const RunResult result = two.run(1);
  CHECK(result.timeline.halt != "");
  CHECK(result.lowered.graph.processors.size() == 1);   // both replicas wait alike
}

TEST_CASE("a device that fails is a class of its own, and its peers wait for it") {
  TwoReplicas two;
  two.cluster.events = {{Seconds(0.02), DeviceFailure{DeviceId{2}}}};
  REQUIRE(two.cluster.devices[2].kind == DeviceKind::gpu);
  const RunResult result = two.run(1);
  CHECK(result.timeline.halt != "");
  CHECK(result.lowered.graph.processors.size() == 2);
}
