// Stages of one pipeline with different numbers of replicas: every sender sends its samples to whoever holds them.
#include <catch2/catch.hpp>

#include "sim/lowering/lower.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// Two stages of one layer over so many nodes each, with one GPU a node.
struct TwoStages {
  Cluster cluster;
  Workload workload;
  Plan plan;

  TwoStages(int first, int second, int micro_batches, const WorkloadShape& shape)
      : cluster(make_cluster({.nodes = first + second})), workload(make_workload(shape)) {
    plan = make_plan({.stages = 2, .micro_batches = micro_batches}, cluster, workload);
    const std::vector<DeviceId> gpus = cluster.gpus();
    replicate(0, {gpus.begin(), gpus.begin() + first});
    replicate(1, {gpus.begin() + first, gpus.end()});
  }

  Part& part() { return plan.phases[0].parts[0]; }

  void replicate(int stage, std::vector<DeviceId> devices) {
    part().stages[stage].rules[0].settings.layout = Layout{equal_axis(AxisKind::data, int(devices.size()))};
    part().stages[stage].devices = std::move(devices);
  }

  Seconds step_time() const { return run_plan(plan, workload, cluster).report.step_time; }
};

}  // namespace

TEST_CASE("four replicas send their samples to one") {
  // F 1 ms on each of four, 4 x 10 MB through the receiver's 10 GB/s, F 4 ms and B 8 ms, 4 ms back, B 2 ms.
  CHECK(near(TwoStages(4, 1, 1, {.layers = 2, .batch = 4, .output = 10_MB}).step_time(), 23_ms));
}

TEST_CASE("one replica splits its samples over four") {
  CHECK(near(TwoStages(1, 4, 1, {.layers = 2, .batch = 4, .output = 10_MB}).step_time(), 23_ms));
}

TEST_CASE("three replicas and two: the one in the middle sends to both") {
  // Two samples each, then three: 2 ms; 20 and 10 MB arrive in 3 ms; 3 and 6 ms; 3 ms back; 4 ms.
  const TwoStages stages(3, 2, 1, {.layers = 2, .batch = 6, .output = 10_MB});
  // The first step alone: without gradients nothing holds the replicas together, and the next one begins in the gaps.
  CHECK(near(run_plan(stages.plan, stages.workload, stages.cluster).report.first_step_time, 21_ms));
  const Router router(stages.cluster);
  int transfers = 0;
  for (const Task& task : lower(stages.plan, stages.workload, stages.cluster, router, {.symmetry = false}).graph.tasks)
    transfers += task.label.kind == TaskKind::pipeline;
  CHECK(transfers == 8);  // 0-0, 1-0, 1-1 and 2-1, there and back
}

TEST_CASE("each stage adds its gradients up over its own replicas") {
  // 20 MB of gradients over two replicas take 2 ms at 10 GB/s after the last backward pass; a single replica has none to exchange.
  WorkloadShape shape{.layers = 2, .batch = 2, .parameters = 5e6};
  const Seconds work = 1_ms + 2_ms + 4_ms + 2_ms;
  CHECK(near(TwoStages(2, 1, 1, shape).step_time(), work + 2_ms));
  // The second stage's exchange hides behind the first stage's backward pass.
  CHECK(near(TwoStages(1, 2, 1, shape).step_time(), 2_ms + 1_ms + 2_ms + 4_ms));
}

TEST_CASE("in_flight bounds what each stage holds, and a deeper stage runs on ahead") {
  const std::optional<int> first = GENERATE(std::optional(1), std::optional(2), std::optional(4));
  TwoStages stages(2, 1, 8, {.layers = 2, .batch = 16, .saved = 100_MB});
  stages.part().stages[0].in_flight = first;
  stages.part().stages[1].in_flight = 1;
  const RunResult run = run_plan(stages.plan, stages.workload, stages.cluster);
  // One sample each on the first stage, both of a micro-batch on the second: 3 and 6 ms.
  CHECK(near(run.report.step_time, *first == 1 ? 9_ms * 8.0 : 3_ms + 6_ms * 8.0));
  CHECK(run.report.memory.at_peak[std::size_t(MemoryClass::activations)] == 100_MB * double(std::max(2, *first)));
}

TEST_CASE("a shallow first stage bounds those behind it") {
  const Cluster cluster = make_cluster({.nodes = 3});
  const Workload workload = make_workload({.layers = 3, .batch = 4});
  Plan plan = make_plan({.stages = 3, .micro_batches = 4}, cluster, workload);
  plan.phases[0].parts[0].stages[0].in_flight = 1;
  CHECK(near(run_plan(plan, workload, cluster).report.step_time, 36_ms));
}
