// What cuts a layer inside: grids of devices for its products, and slices that hide collectives.
#include <catch2/catch.hpp>

#include <random>

#include "sim/cost/layer_work.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

constexpr double kTokens = 1024, kWidth = 8192;

Operator product(const char* name, TensorCut cut) {
  Operator op;
  op.name = name;
  op.group = "mlp";
  op.kind = OperatorClass::gemm;
  op.gemm_n = op.gemm_k = kWidth;
  op.parameters = kWidth * kWidth;
  op.forward_flops.per_token = Flops(2 * kWidth * kWidth);
  op.output.per_token = Bytes(2 * kWidth);
  op.saved.per_token = Bytes(2 * kWidth);
  op.cut = cut;
  op.saved_cut = cut == TensorCut::row ? TensorCut::column : TensorCut::sequence;
  op.core_attention = true;              // so that recompute applies
  return op;
}

/// Two products of 8192 x 8192 a layer, the first cut by columns, the second by rows; 1024 tokens a sample.
Workload two_products(int layers, double batch) {
  Workload workload = make_workload({.layers = layers, .batch = batch});
  workload.data.sequence_length = kTokens;
  Module& module = workload.modules[0];
  module.hidden = kWidth;
  module.types[0].operators = {product("up", TensorCut::column), product("down", TensorCut::row)};
  return workload;
}

/// Kernels take their FLOPs at 100 TFLOP/s and nothing else.
Cluster without_memory_traffic(ClusterShape shape) {
  Cluster cluster = make_cluster(shape);
  for (DeviceType& type : cluster.device_types) type.memory_bandwidth = BytesPerSecond(1e21);
  return cluster;
}

Settings& settings(Plan& plan) { return plan.phases[0].parts[0].stages[0].rules[0].settings; }

Plan sliced(int tensor, Slices slices, const Cluster& cluster, const Workload& workload) {
  Plan plan = make_plan({.tensor = tensor}, cluster, workload);
  settings(plan).slices = slices;
  settings(plan).streams[Traffic::tensor] = "tensor";
  return plan;
}

/// Of one product of one sample on two devices: 2 · 1024 · 4096 · 8192 FLOPs at 100 TFLOP/s; its output in 16 bits over 20 GB/s, all of it, since
/// each of two members sends half of it twice.
const Seconds kProduct(2.0 * 1024 * 4096 * 8192 / 100e12), kReduce(2.0 * 1024 * 8192 / 20e9);

}  // namespace

TEST_CASE("two equal slices hide all but the last all-reduce of each pass") {
  const Cluster cluster = without_memory_traffic({.nodes = 1, .gpus = 2, .inside = BytesPerSecond(20e9)});
  const Workload workload = two_products(3, 2);
  // 3 layers of 2 slices: 2 products forward, 4 backward; an all-reduce (0.84 ms) is shorter than a slice's layer (1.37 ms). Forward the
  // last stands alone, backward it hides behind its own weight gradient (0.69 ms) first.
  const Seconds products = kProduct * (3 * 2 * 6.0);
  const RunResult hidden = run_plan(sliced(2, {2, 1}, cluster, workload), workload, cluster);
  CHECK(near(hidden.report.step_time, products + kReduce + (kReduce - kProduct)));
  CHECK(near(hidden.report.time.tensor, kReduce + (kReduce - kProduct)));
  // Without slices all of them stand alone: 2 samples in each of 2 all-reduces a layer.
  const RunResult whole = run_plan(make_plan({.tensor = 2}, cluster, workload), workload, cluster);
  CHECK(near(whole.report.step_time, products + kReduce * (3 * 2 * 2.0)));
}

TEST_CASE("slices on the compute stream hide nothing") {
  const Cluster cluster = without_memory_traffic({.nodes = 1, .gpus = 2, .inside = BytesPerSecond(20e9)});
  const Workload workload = two_products(3, 2);
  Plan plan = sliced(2, {2, 1}, cluster, workload);
  settings(plan).streams[Traffic::tensor] = "compute";
  CHECK(near(run_plan(plan, workload, cluster).report.step_time, kProduct * 36.0 + kReduce * 12.0));
}

TEST_CASE("slices of the second matrix hide all but the last part of its all-reduce") {
  const Cluster cluster = without_memory_traffic({.nodes = 1, .gpus = 2, .inside = BytesPerSecond(80e9)});
  const Workload workload = two_products(1, 1);
  // Forward: up, four quarters of down, and a quarter of its all-reduce (0.21 ms, hidden by a quarter of 0.69 ms only in part: 0.17 ms).
  // Backward: the all-reduce (0.21 ms) runs beside the weight gradient.
  const Seconds reduce = kReduce / 4.0, part = reduce / 4.0, quarter = kProduct / 4.0;
  REQUIRE(part < quarter);
  const RunResult run = run_plan(sliced(2, {1, 4}, cluster, workload), workload, cluster);
  CHECK(near(run.report.step_time, kProduct * 6.0 + part));
}

TEST_CASE("a square of four gathers both factors, a cube scatters sums, too") {
  const ClusterShape shape{.nodes = 1, .gpus = 8, .inside = BytesPerSecond(100e9)};
  const Cluster cluster = without_memory_traffic(shape);
  const Workload workload = two_products(1, 4);
  Plan plan = make_plan({.tensor = 8}, cluster, workload);
  settings(plan).layout = Layout{equal_axis(AxisKind::rows, 2), equal_axis(AxisKind::columns, 2), equal_axis(AxisKind::inner, 2)};
  const RunResult run = run_plan(plan, workload, cluster);
  // 4096 tokens: blocks of M/2 x K/2 (2048 x 4096, 16.8 MB) and K/2 x N/2 (4096 x 4096, 33.6 MB); half of each goes over a port of 100 GB/s.
  const Seconds a(2.0 * 2048 * 4096 / 2 / 100e9), b(2.0 * 4096 * 4096 / 2 / 100e9), kernel(2.0 * 2048 * 4096 * 4096 / 100e12);
  // Forward A, B, C; backward dC, B, dA, A, dB. C is as large as A.
  CHECK(near(run.report.step_time, (kernel * 3.0 + a * 5.0 + b * 3.0) * 2.0));
  CHECK(near(run.report.time.tensor, (a * 5.0 + b * 3.0) * 2.0));
  CHECK(run.report.device_classes == 1);
}

TEST_CASE("replicas of a cube add up equal parts of the gradients") {
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 8});
  Workload workload = two_products(1, 8);
  workload.optimizer = "adam";
  Plan plan = make_plan({.data = 2, .tensor = 8}, cluster, workload);
  settings(plan).layout = Layout{equal_axis(AxisKind::data, 2), equal_axis(AxisKind::rows, 2), equal_axis(AxisKind::columns, 2), equal_axis(AxisKind::inner, 2)};
  const RunResult run = run_plan(plan, workload, cluster);
  CHECK(run.report.memory.at_peak[std::size_t(MemoryClass::weights)] == Bytes(2 * 2 * kWidth * kWidth / 8));
  CHECK(run.report.time.data > Seconds(0));
}

namespace {

struct Case {
  Cluster cluster;
  Workload workload;
  Plan plan;
};

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> from) {
  return *(from.begin() + random() % from.size());
}

/// Grids or slices over stages, data ranks, unequal nodes and shared links.
Case random_case(unsigned seed) {
  std::mt19937 random(seed);
  const bool grid = random() % 2;
  const ProductGrid sides = grid ? pick<ProductGrid>(random, {{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 1}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}}) : ProductGrid{};
  const int stages = pick(random, {1, 2}), data = pick(random, {1, 2}), tensor = grid ? sides.members() : pick(random, {1, 2, 4});
  const int gpus = pick(random, {1, 2, 4}), micro_batches = pick(random, {1, 2, 3});
  const int nodes = (stages * data * tensor + gpus - 1) / gpus;
  Case made;
  made.cluster = make_cluster({.nodes = nodes, .gpus = gpus, .slow_nodes = pick(random, {0, 1}) * (nodes > 1), .nodes_per_leaf = pick(random, {0, 2}),
                               .oversubscription = double(pick(random, {1, 3}))});
  if (random() % 2)
    for (DeviceType& type : made.cluster.device_types) type.collective_share = 0.2;
  made.workload = two_products(stages * pick(random, {1, 2}), double(micro_batches * data * 12));
  made.workload.software.overlap_gradient_reduce = random() % 2;
  made.workload.software.distributed_optimizer = random() % 2;
  made.workload.software.pipeline_scatter_gather = random() % 2;
  made.workload.software.overlap_pipeline = random() % 2;
  made.plan = make_plan({.stages = stages, .data = data, .tensor = tensor, .micro_batches = micro_batches, .schedule = pick<const char*>(random, {"1f1b", "gpipe", "zb_h1"})},
                        made.cluster, made.workload);
  const Slices slices{pick(random, {1, 2, 3}), pick(random, {1, 2, 3})};
  const std::string stream = pick<const char*>(random, {"tensor", "tensor", "compute"});
  for (Stage& stage : made.plan.phases[0].parts[0].stages) {
    Settings& settings = stage.rules[0].settings;
    settings.recompute = pick<Recompute>(random, {{}, {RecomputeKind::full, 1}});
    if (grid)
      settings.layout = Layout{equal_axis(AxisKind::data, data), equal_axis(AxisKind::rows, sides.rows), equal_axis(AxisKind::columns, sides.columns),
                               equal_axis(AxisKind::inner, sides.inner)};
    if (!grid && slices != Slices{}) settings.slices = slices, settings.streams[Traffic::tensor] = stream;
  }
  return made;
}

void check_cases(unsigned from, unsigned to) {
  for (unsigned seed = from; seed < to; ++seed) {
    const Case c = random_case(seed);
    INFO("seed " << seed);
    REQUIRE(c.plan.check(c.cluster, c.workload).empty());
    const auto run = [&](bool symmetry, bool detail) { return run_plan(c.plan, c.workload, c.cluster, {.symmetry = symmetry, .full_detail = detail}, 2).report; };
    const StepReport reduced = run(true, false), full = run(false, false), detailed = run(true, true);
    REQUIRE(near(reduced.step_time, full.step_time));
    REQUIRE(near(reduced.step_time, detailed.step_time));
    REQUIRE(reduced.memory.peak.value == Approx(full.memory.peak.value));
    for (const TimePartName& part : kTimeParts)
      REQUIRE((reduced.time.*part.part).value == Approx((full.time.*part.part).value).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("grids and slices: reduced, full and detailed simulations are equal: cases 0 to 19") { check_cases(0, 20); }
TEST_CASE("grids and slices: reduced, full and detailed simulations are equal: cases 20 to 39") { check_cases(20, 40); }
TEST_CASE("grids and slices: reduced, full and detailed simulations are equal: cases 40 to 59") { check_cases(40, 60); }
