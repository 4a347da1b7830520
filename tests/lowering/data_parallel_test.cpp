// Collectives of a step against the ring's closed form.
#include <catch2/catch.hpp>

#include "sim/engine/simgrid_executor.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

Seconds ring_all_reduce(double bytes, int n, BytesPerSecond rate, Seconds hop) {
  return Bytes(2.0 * (n - 1) / n * bytes) / rate + hop * (2.0 * (n - 1));
}

}  // namespace

TEST_CASE("a lone ring all-reduce takes 2(n-1)/n S/B and its latency steps") {
  const int n = GENERATE(2, 4, 8);
  const Cluster cluster = make_cluster({.nodes = n, .hop_latency = 5_us});
  // 8 M parameters of fp32 gradients: divisible by n.
  Workload workload = make_workload({.layers = 1, .batch = double(n), .parameters = 8e6});
  const Plan plan = make_plan({.data = n, .micro_batches = 1}, cluster, workload);
  SimGridExecutor executor;
  const StepReport report = run_plan(plan, workload, cluster, {}, 1, n == 4 ? &executor : nullptr).report;
  CHECK(near(report.step_time, 3_ms + ring_all_reduce(32e6, n, BytesPerSecond(10e9), 10_us)));
  CHECK(near(report.time.data, ring_all_reduce(32e6, n, BytesPerSecond(10e9), 10_us)));
}

TEST_CASE("reduce-scatter and gather of ZeRO-1 together take as long as the all-reduce of the same bytes") {
  const Cluster cluster = make_cluster({.nodes = 4});
  Workload workload = make_workload({.layers = 1, .batch = 4, .parameters = 8e6});
  workload.software.distributed_optimizer = true;
  workload.software.gradient_reduce_type = DataType::fp16;
  const Plan plan = make_plan({.data = 4, .micro_batches = 1}, cluster, workload);
  const StepReport report = run_plan(plan, workload, cluster).report;
  CHECK(near(report.step_time, 3_ms + ring_all_reduce(16e6, 4, BytesPerSecond(10e9), {})));
}

TEST_CASE("overlapped buckets hide all but the last behind the backward pass") {
  const Cluster cluster = make_cluster({.nodes = 2});
  // Four layers of 50 M parameters: a bucket each of 100 MB on the wire (ring of 2: 2 x 1/2), 10 ms; backward takes 2 ms a layer.
  Workload workload = make_workload({.layers = 4, .batch = 2, .parameters = 50e6});
  workload.software.gradient_reduce_type = DataType::fp16;
  workload.software.overlap_gradient_reduce = true;
  const Plan plan = make_plan({.data = 2, .micro_batches = 1}, cluster, workload);
  // Forward 4 ms, first bucket after 2 ms of backward, then four buckets of 10 ms in a row.
  CHECK(near(run_plan(plan, workload, cluster).report.step_time, 46_ms));
}

TEST_CASE("a Plan's own bucket size is kept, by layer or by bytes") {
  const Cluster cluster = make_cluster({.nodes = 2});
  Workload workload = make_workload({.layers = 4, .batch = 2, .parameters = 1e6});
  workload.software.gradient_reduce_type = DataType::fp16;
  workload.software.overlap_gradient_reduce = true;
  Plan plan = make_plan({.data = 2, .micro_batches = 1}, cluster, workload);
  const auto reductions = [&](std::optional<Bytes> bucket) {
    Sync sync;
    sync.bucket = bucket;
    plan.phases[0].parts[0].stages[0].rules[0].settings.sync = sync;
    const Router router(cluster);
    int count = 0;
    for (const Task& task : lower(plan, workload, cluster, router, {}).graph.tasks) count += task.label.detail == "all-reduce";
    return count;
  };
  CHECK(reductions(std::nullopt) == 1);  // 4 M parameters are less than the software's 40 M
  CHECK(reductions(Bytes(0)) == 4);
  CHECK(reductions(4_MB) == 2);
}

TEST_CASE("gathers hidden in the next forward pass shorten the period but not the first step") {
  const Cluster cluster = make_cluster({.nodes = 2});
  Workload workload = make_workload({.layers = 4, .batch = 2, .parameters = 50e6});
  workload.software.gradient_reduce_type = DataType::fp16;
  workload.software.distributed_optimizer = true;
  workload.software.overlap_gradient_reduce = true;
  workload.software.overlap_weight_gather = true;
  const Plan plan = make_plan({.data = 2, .micro_batches = 1}, cluster, workload);
  const StepReport report = run_plan(plan, workload, cluster, {}, 4).report;
  // Reduce-scatter and gather of a bucket: 5 ms each. Backward 2 ms then 4 x 5; gathers 4 x 5, the last followed by its layer's 1 ms.
  CHECK(near(report.step_time, 43_ms));
}

TEST_CASE("two replicas that share an up-link halve each other's rate") {
  // Two leaves of two nodes; the pipeline crosses from leaf to leaf for two data ranks at once, over an up-link of one NIC.
  const Cluster cluster = make_cluster({.nodes = 4, .nodes_per_leaf = 2, .oversubscription = 2});
  Workload workload = make_workload({.layers = 2, .batch = 2, .output = 10_MB});
  const Plan plan = make_plan({.stages = 2, .data = 2, .micro_batches = 1}, cluster, workload);
  CHECK(near(run_plan(plan, workload, cluster).report.time.pipeline, 4_ms));
}

namespace {

/// Two InfiniBand islands of four nodes, 25 GB/s a NIC, joined by 10 Gbps; two stages of four replicas, 100 MB of gradients each.
struct Islands {
  Cluster cluster = make_cluster({.nodes = 8, .nic = BytesPerSecond(25e9), .nodes_per_leaf = 4, .oversubscription = 80});
  Workload workload = make_workload({.layers = 2, .batch = 4, .parameters = 25e6, .output = 1_MB});
  Plan plan = make_plan({.stages = 2, .data = 4, .micro_batches = 1}, cluster, workload);
  void place(int stage, const std::vector<int>& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      plan.phases[0].parts[0].stages[std::size_t(stage)].devices[i] = cluster.nodes[std::size_t(nodes[i])].devices[0];
  }
  StepReport report() const { return run_plan(plan, workload, cluster).report; }
};

}  // namespace

TEST_CASE("two islands joined by 10 Gbps: a stage an island, only activations cross") {
  // Four messages of 1 MB share 1.25 GB/s: 3.2 ms. F 1, message, F 1, B 2, message, B 2, then a ring of four at 25 GB/s: 6 ms; the
  // other stage's ring is over by then.
  CHECK(near(Islands().report().step_time, 1_ms + 3.2_ms + 1_ms + 2_ms + 3.2_ms + 2_ms + 6_ms));
}

TEST_CASE("two islands joined by 10 Gbps, in the naive order: gradients of both stages cross") {
  // Messages stay inside an island: 0.04 ms. The second stage's ring is ready after F, message, F and B; from then on the 10 Gbps are
  // busy until both rings have moved their 150 MB: 240 ms.
  Islands naive;
  naive.place(0, {0, 1, 4, 5});
  naive.place(1, {2, 3, 6, 7});
  CHECK(near(naive.report().step_time, 1_ms + 0.04_ms + 1_ms + 2_ms + 240_ms));
}

TEST_CASE("tensor-parallel all-reduces are part of a merged stage and separate in full detail, with equal times") {
  const bool full = GENERATE(false, true);
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 2});
  Workload workload = make_workload({.layers = 4, .batch = 4, .output = 100_MB, .tensor_cut = true});
  const Plan plan = make_plan({.stages = 2, .tensor = 2, .micro_batches = 4}, cluster, workload);
  const RunResult run = run_plan(plan, workload, cluster, {.symmetry = true, .full_detail = full});
  const RunResult other = run_plan(plan, workload, cluster, {.symmetry = true, .full_detail = !full});
  CHECK(near(run.report.step_time, other.report.step_time));
  CHECK(run.report.time.tensor > Seconds(0));
  CHECK(near(run.report.time.total(), run.report.step_time));
}

TEST_CASE("ZeRO-2 scatters gradients after every micro-batch and keeps a part of them") {
  // Two GPUs, one layer of 8 M parameters, two micro-batches of 1 + 2 ms. Gradients travel in fp32: 32 MB, half of it on the wire at
  // 10 GB/s: 1.6 ms each. Overlapped, the first hides behind the second micro-batch and the second is exposed; then the weights' 16 MB
  // are gathered in 0.8 ms.
  const Cluster cluster = make_cluster({.nodes = 2});
  Workload workload = make_workload({.layers = 1, .batch = 4, .parameters = 8e6});
  Plan plan = make_plan({.data = 2, .micro_batches = 2}, cluster, workload);
  plan.phases[0].parts[0].stages[0].rules[0].settings.zero = 2;
  workload.software.overlap_gradient_reduce = true;
  const StepReport overlapped = run_plan(plan, workload, cluster).report;
  CHECK(near(overlapped.step_time, 6_ms + 1.6_ms + 0.8_ms));
  workload.software.overlap_gradient_reduce = false;
  const StepReport blocking = run_plan(plan, workload, cluster).report;
  CHECK(near(blocking.step_time, 6_ms + 3.2_ms + 0.8_ms));
  CHECK(blocking.memory.at_peak[std::size_t(MemoryClass::gradients)] == 16_MB);  // 4 B x 8 M / 2
  CHECK(blocking.memory.at_peak[std::size_t(MemoryClass::buffers)] == 32_MB);    // whole until they are scattered
}
