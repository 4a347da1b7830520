// zero 3: gathers and reduce-scatters layer by layer, hidden or exposed as bytes over bandwidth against the kernels say.
#include <catch2/catch.hpp>

#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

Plan sharded_plan(const Cluster& cluster, const Workload& workload, int data, int shard, int micro_batches, bool regather = true) {
  Plan plan = make_plan({.data = data * shard, .micro_batches = micro_batches}, cluster, workload);
  Settings& settings = plan.phases[0].parts[0].stages[0].rules[0].settings;
  settings.layout = Layout{equal_axis(AxisKind::data, data), equal_axis(AxisKind::shard, shard)};
  settings.zero = 3;
  settings.regather = regather;
  return plan;
}

/// Two layers of this many parameters on two GPUs, one sample each; 16-bit gradients on the wire.
StepReport two_layers(double parameters, bool regather = true) {
  const Cluster cluster = make_cluster({.nodes = 2});
  Workload workload = make_workload({.layers = 2, .batch = 2, .parameters = parameters});
  workload.software.gradient_reduce_type = DataType::fp16;
  return run_plan(sharded_plan(cluster, workload, 1, 2, 1, regather), workload, cluster, {}, 4).report;
}

}  // namespace

TEST_CASE("fast gathers hide: only the first gather and the last reduce-scatter stand out") {
  // A layer's gather and scatter take 0.5 ms each (10 MB, half of it on the wire at 10 GB/s); forward 1 ms, backward 2 ms a layer.
  // gather 0 | F0 beside gather 1 | F1 | B1 | B0 beside scatter 1 | scatter 0: 0.5 + 1 + 1 + 2 + 2 + 0.5.
  CHECK(near(two_layers(5e6).step_time, 7_ms));
}

TEST_CASE("slow gathers set the pace") {
  // 3 ms each: G0 0-3, F0 3-4, G1 3-6, F1 6-7, G1' 6-9, B1 9-11, G0' 9-12, B0 12-14, S1 12-15, S0 15-18.
  CHECK(near(two_layers(30e6).step_time, 18_ms));
}

TEST_CASE("kept weights are gathered once") {
  // G0 0-3, F0 3-4, G1 3-6, F1 6-7, B1 7-9, B0 9-11, S1 9-12, S0 12-15.
  CHECK(near(two_layers(30e6, false).step_time, 15_ms));
}

TEST_CASE("states are sharded and two gathered layers come on top") {
  const StepReport report = two_layers(100e6);
  const auto held = [&](MemoryClass kind) { return report.memory.at_peak[std::size_t(kind)]; };
  // 200 M parameters over two devices, 4 bytes of weights and of gradients each, 8 of moments.
  CHECK(held(MemoryClass::weights) == 400_MB);
  CHECK(held(MemoryClass::gradients) == 400_MB);
  CHECK(held(MemoryClass::optimizer) == 800_MB);
  CHECK(held(MemoryClass::buffers) >= 400_MB);  // two layers of 200 MB
  CHECK(held(MemoryClass::buffers) <= 600_MB);  // and one layer's gradients
}

TEST_CASE("in a pipeline weights may stay gathered and gradients add up whole until the last micro-batch") {
  const Cluster cluster = make_cluster({.nodes = 4});
  Workload workload = make_workload({.layers = 2, .batch = 8, .parameters = 100e6});
  Plan plan = make_plan({.stages = 2, .data = 2, .micro_batches = 4}, cluster, workload);
  for (Stage& stage : plan.phases[0].parts[0].stages) {
    stage.rules[0].settings.layout = Layout{equal_axis(AxisKind::shard, 2)};
    stage.rules[0].settings.zero = 3;
  }
  const auto held = [&](MemoryClass kind) { return run_plan(plan, workload, cluster).report.memory.at_peak[std::size_t(kind)]; };
  CHECK(held(MemoryClass::gradients) == 200_MB);  // 4 bytes of 100 M parameters over two devices
  workload.software.whole_in_pipeline = true;
  CHECK(held(MemoryClass::weights) == 200_MB);
  CHECK(held(MemoryClass::gradients) == 400_MB);  // whole; parts come as the whole ones go
  CHECK(held(MemoryClass::optimizer) == 400_MB);
  CHECK(held(MemoryClass::buffers) == 200_MB);    // the layer gathered, 2 bytes a parameter
}

TEST_CASE("what stays whole is gathered once a step and scattered once, with or without a pipeline") {
  const Cluster cluster = make_cluster({.nodes = 2});
  Workload workload = make_workload({.layers = 2, .batch = 6, .parameters = 30e6});
  workload.software.gradient_reduce_type = DataType::fp16;
  const Plan plan = sharded_plan(cluster, workload, 1, 2, 3);
  const Seconds each_time = run_plan(plan, workload, cluster, {}, 4).report.step_time;
  workload.software.accumulates_whole = true;
  // 3 ms a gather: G0 0-3, F0 3-4, G1 3-6, F1 6-7; B1 7-9, B0 9-11; 2 x 2 x (1 + 2) ms more; the last B1 and B0 end at 21 and 23, S1 21-24, S0 24-27.
  const Seconds once = run_plan(plan, workload, cluster, {}, 4).report.step_time;
  CHECK(near(once, 27_ms));
  CHECK(each_time > 2.0 * once - 10_ms);
  workload.software = {};
  workload.software.whole_in_pipeline = true;  // says nothing without a pipeline
  workload.software.gradient_reduce_type = DataType::fp16;
  CHECK(near(run_plan(plan, workload, cluster, {}, 4).report.step_time, each_time));
}

TEST_CASE("replicas of shards add their gradients up after the last micro-batch only") {
  const Cluster cluster = make_cluster({.nodes = 4});
  Workload workload = make_workload({.layers = 2, .batch = 8, .parameters = 5e6});
  const Plan plan = sharded_plan(cluster, workload, 2, 2, 2);
  const Router router(cluster);
  int gathers = 0, scatters = 0, reductions = 0;
  const Lowered lowered = lower(plan, workload, cluster, router, {});
  for (const Task& task : lowered.graph.tasks) {
    gathers += task.label.detail == "gather weights";
    scatters += task.label.detail == "reduce-scatter";
    reductions += task.label.detail == "all-reduce";
  }
  CHECK(lowered.devices.size() == 1);
  CHECK(gathers == 8);     // 2 layers, 2 micro-batches, forward and backward
  CHECK(scatters == 4);
  CHECK(reductions == 2);
}

TEST_CASE("shards of two pipelines add up part by part: halves and quarters meet in quarters") {
  const Cluster cluster = make_cluster({.nodes = 6});
  const Workload workload = make_workload({.layers = 1, .batch = 8, .parameters = 20e6});
  Plan plan = make_plan({.data = 6, .micro_batches = 1}, cluster, workload);
  Part& part = plan.phases[0].parts[0];
  const std::vector<DeviceId> gpus = cluster.gpus();
  part.stages.push_back(part.stages[0]);
  part.pipelines.push_back(part.pipelines[0]);
  part.pipelines[1].stages = {StageId(1)};
  for (int p = 0; p < 2; ++p) {
    part.pipelines[p].batch = 4;
    part.stages[p].devices = p == 0 ? std::vector<DeviceId>{gpus.begin(), gpus.begin() + 2} : std::vector<DeviceId>{gpus.begin() + 2, gpus.end()};
    part.stages[p].rules[0].settings.layout = Layout{equal_axis(AxisKind::shard, p == 0 ? 2 : 4)};
    part.stages[p].rules[0].settings.zero = 3;
  }
  const Router router(cluster);
  std::vector<Bytes> reductions;
  for (const Task& task : lower(plan, workload, cluster, router, {.symmetry = false}).graph.tasks)
    if (task.label.detail == "all-reduce") reductions.push_back(task.phases[0].flows[0].bytes);
  // Each half meets two quarters of 20 MB, in two rings of two at once.
  REQUIRE(reductions.size() == 2);
  CHECK(reductions[0] == 20_MB);
  CHECK(reductions[1] == 20_MB);
}
