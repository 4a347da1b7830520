// Pipelines that cut a layer over tensor axes of different size exchange its gradients in the parts of the common refinement.
#include <catch2/catch.hpp>

#include "sim/lowering/lower.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// Two pipelines of one stage, on one and on two GPUs of their own; ports of 10 GB/s.
struct TwoPipelines {
  Cluster cluster = make_cluster({.nodes = 3});
  Workload workload;
  Plan plan;

  explicit TwoPipelines(const WorkloadShape& shape) : workload(make_workload(shape)) {
    plan = make_plan({.data = 3, .micro_batches = 1}, cluster, workload);
    Part& part = plan.phases[0].parts[0];
    const std::vector<DeviceId> gpus = cluster.gpus();
    part.stages.push_back(part.stages[0]);
    part.stages[0].devices = {gpus[0]};
    part.stages[1].devices = {gpus[1], gpus[2]};
    part.stages[0].rules[0].settings.layout = Layout{equal_axis(AxisKind::tensor, 1)};
    part.stages[1].rules[0].settings.layout = Layout{equal_axis(AxisKind::tensor, 2)};
    part.pipelines.push_back(part.pipelines[0]);
    part.pipelines[1].stages = {StageId(1)};
    for (Pipeline& pipeline : part.pipelines) pipeline.batch = shape.batch / 2;
  }
};

/// 20 M parameters cut by the tensor axis in one layer, at next to no work.
WorkloadShape halves() { return {.layers = 1, .batch = 2, .parameters = 10e6, .tensor_cut = true}; }

Task first_of(const TaskGraph& graph, const std::string& detail) {
  for (const Task& task : graph.tasks)
    if (task.label.detail == detail) return task;
  FAIL("no task " + detail);
  return {};
}

}  // namespace

TEST_CASE("two halves are added up at once through the port of the device that holds both") {
  const TwoPipelines two(halves());
  const Router router(two.cluster);
  const Lowered lowered = lower(two.plan, two.workload, two.cluster, router, {.full_detail = true});
  CHECK(lowered.devices.size() == 2);
  // 40 MB of each half in rings of two: 40 MB a ring, both through the port of the whole: 8 ms.
  const Task reduction = first_of(lowered.graph, "all-reduce");
  CHECK(reduction.slots.size() == 2);
  CHECK(reduction.phases[0].flows[0].bytes == 40_MB);
  // 80 MB are read and written at 1 TB/s before the exchange and after it.
  CHECK(near(first_of(lowered.graph, "re-layout").phases[0].kernel->alone, 0.16_ms));
  TwoPipelines equal(halves());
  Part& part = equal.plan.phases[0].parts[0];
  part.stages[1].devices.resize(1);
  part.stages[1].rules[0].settings.layout = part.stages[0].rules[0].settings.layout;
  // The finer pipeline is ahead by the copy after the exchange until it has to wait.
  const Seconds step = run_plan(two.plan, two.workload, two.cluster, {}, 4).report.step_time;
  const Seconds without = run_plan(equal.plan, equal.workload, equal.cluster, {}, 4).report.step_time;
  // One ring of 80 MB takes 8 ms as well; only the copies are added.
  CHECK(near(step, without + 0.32_ms));
}

TEST_CASE("the coarser holder keeps a buffer for the parts") {
  const TwoPipelines two(halves());
  const Router router(two.cluster);
  std::map<int, Bytes> buffers;
  const Lowered lowered = lower(two.plan, two.workload, two.cluster, router, {});
  for (const Resident& resident : lowered.graph.residents)
    if (resident.kind == MemoryClass::buffers) buffers[int(resident.processor)] += resident.bytes;
  REQUIRE(buffers.size() == 1);
  CHECK(buffers.begin()->second == 80_MB);
}

TEST_CASE("sharded optimizers copy gradients before they are scattered and weights after they are gathered") {
  TwoPipelines two(halves());
  two.workload.software.distributed_optimizer = true;
  for (Stage& stage : two.plan.phases[0].parts[0].stages) stage.rules[0].settings.zero = 1;
  const Router router(two.cluster);
  const Lowered lowered = lower(two.plan, two.workload, two.cluster, router, {.full_detail = true});
  std::vector<Seconds> copies;
  for (const Task& task : lowered.graph.tasks)
    if (task.label.detail == "re-layout") copies.push_back(task.phases[0].kernel->alone);
  // Weights of 2 bytes at the start of the step, gradients of 4 bytes at its end.
  REQUIRE(copies.size() == 2);
  CHECK(near(copies[0], 0.08_ms));
  CHECK(near(copies[1], 0.16_ms));
}
