// Layouts that differ inside a stage: the intersection of the shards passes between its layers.
#include <catch2/catch.hpp>

#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

Layout cut(int data, int tensor) { return {equal_axis(AxisKind::data, data), equal_axis(AxisKind::tensor, tensor)}; }

/// Two layers on the four GPUs of a node (100 GB/s each way), with settings of their own.
struct TwoLayers {
  Cluster cluster = make_cluster({.nodes = 1, .gpus = 4});
  Workload workload;
  Plan plan;

  TwoLayers(const WorkloadShape& shape, const Layout& first, const Layout& second) : workload(make_workload(shape)) {
    plan = make_plan({.data = 4, .micro_batches = 1}, cluster, workload);
    settings(0).layout = first;
    settings(1).layout = second;
  }

  Settings& settings(int layer) {
    std::vector<Rule>& rules = plan.phases[0].parts[0].stages[0].rules;
    while (int(rules.size()) < layer + 2) rules.push_back({{LayerId(int(rules.size()) - 1)}, "", {}, {}});
    return rules[layer + 1].settings;
  }

  StepReport report(const LoweringOptions& options = {}) const { return run_plan(plan, workload, cluster, options).report; }
};

const WorkloadShape kActivations{.layers = 2, .batch = 4, .output = 10_MB};

}  // namespace

TEST_CASE("from few replicas to many: a slice forwards, a gather backwards") {
  // Two samples a device in the first layer, one in the second: 2 + 1 + 2 + 4 ms; two parts of 10 MB are gathered in 0.1 ms.
  const StepReport report = TwoLayers(kActivations, cut(2, 2), cut(4, 1)).report();
  CHECK(near(report.step_time, 9.1_ms));
  CHECK(near(report.time.tensor, 0.1_ms));
  CHECK(report.device_classes == 1);
}

TEST_CASE("from many replicas to few: a gather forwards, a slice backwards") {
  // Four parts of 10 MB are gathered: 30 MB at 100 GB/s. 1 + 4 ms forwards, 8 + 2 ms backwards.
  CHECK(near(TwoLayers(kActivations, cut(4, 1), cut(1, 4)).report().step_time, 15.3_ms));
}

TEST_CASE("equal layouts need no exchange") {
  TwoLayers layers(kActivations, cut(4, 1), cut(4, 1));
  layers.settings(1).zero = 1;
  CHECK(near(layers.report().step_time, 6_ms));
}

TEST_CASE("from rows to samples: all to all in both directions") {
  TwoLayers layers(kActivations, cut(1, 4), cut(4, 1));
  layers.settings(0).sequence_parallel = true;
  // 40 MB in quarters: each device passes three quarters of its 10 MB on, 0.075 ms. 4 + 1 ms forwards, 2 + 8 ms backwards.
  CHECK(near(layers.report().step_time, 15.15_ms));
}

TEST_CASE("each layer adds its gradients up over its own replicas") {
  // 100 MB a layer: a ring of two takes 1 ms, one of four 1.5 ms, after the whole backward pass.
  const WorkloadShape shape{.layers = 2, .batch = 4, .parameters = 25e6};
  CHECK(near(TwoLayers(shape, cut(2, 2), cut(4, 1)).report().step_time, 9_ms + 2.5_ms));
}

TEST_CASE("memory follows each layer's layout and zero") {
  TwoLayers layers({.layers = 2, .batch = 4, .parameters = 1e8, .saved = 100_MB}, cut(2, 2), cut(4, 1));
  layers.workload.optimizer = "adam";
  layers.settings(1).zero = 1;
  const MemoryReport memory = layers.report().memory;
  const auto held = [&](MemoryClass kind) { return memory.at_peak[std::size_t(kind)]; };
  CHECK(held(MemoryClass::weights) == 400_MB);
  CHECK(held(MemoryClass::optimizer) == 1200_MB + 300_MB);
  CHECK(held(MemoryClass::activations) == 200_MB + 100_MB);
}

TEST_CASE("sections share the slots for gathered layers") {
  TwoLayers layers({.layers = 4, .batch = 4, .parameters = 30e6}, {}, {});
  for (int layer = 0; layer < 4; ++layer) {
    layers.settings(layer).zero = 3;
    layers.settings(layer).layout = layer < 2 ? cut(4, 1) : Layout{equal_axis(AxisKind::data, 2), equal_axis(AxisKind::shard, 2)};
  }
  const MemoryReport memory = layers.report().memory;
  // Two layers of 60 MB and one layer's gradients of 120 MB at most.
  CHECK(memory.at_peak[std::size_t(MemoryClass::buffers)] <= 240_MB);
  CHECK(memory.at_peak[std::size_t(MemoryClass::weights)] == 240_MB / 4.0 + 240_MB / 2.0);
}

TEST_CASE("jitter reaches the exchanges between layouts, reduced or device by device") {
  const TwoLayers layers(kActivations, cut(2, 2), cut(4, 1));
  const Jitter jitter{.kernels = 0, .communication = 0.2, .seed = 3};
  const StepReport drawn = layers.report({.jitter = jitter}), full = layers.report({.symmetry = false, .jitter = jitter});
  CHECK_FALSE(near(drawn.time.tensor, 0.1_ms));
  CHECK(near(drawn.step_time, 9_ms + drawn.time.tensor));
  CHECK(near(full.step_time, drawn.step_time));
}

namespace {

/// Two layers; the GPU of the last node is half as fast where there are two nodes.
StepReport unequal(int nodes, int gpus, const WorkloadShape& shape, const Layout& first, const Layout& second, Algorithm gather = Algorithm::automatic) {
  const Cluster cluster = make_cluster({.nodes = nodes, .gpus = gpus, .slow_nodes = nodes - 1});
  const Workload workload = make_workload(shape);
  Plan plan = make_plan({.data = nodes * gpus, .micro_batches = 1}, cluster, workload);
  std::vector<Rule>& rules = plan.phases[0].parts[0].stages[0].rules;
  rules[0].settings.layout = first;
  Wire wire;
  wire.all_gather = gather;
  rules[0].settings.wire = wire;
  rules.push_back({{LayerId(1)}, "", {}, {}});
  rules[1].settings.layout = second;
  REQUIRE(plan.check(cluster, workload).empty());
  return run_plan(plan, workload, cluster).report;
}

Layout samples(std::vector<double> shares) { return {Axis{AxisKind::data, std::move(shares)}}; }
Layout weights(std::vector<double> shares) { return {Axis{AxisKind::tensor, std::move(shares)}}; }

}  // namespace

TEST_CASE("unequal shares of the samples even out what unlike GPUs take") {
  const WorkloadShape six{.layers = 2, .batch = 6, .parameters = 25e6};
  // Two layers of 3 ms a sample; 3 samples on the slow one take 36 ms, 2 take 24 ms, as 4 on the fast one. Then 200 MB in a ring of two.
  CHECK(near(unequal(2, 1, six, samples({1, 1}), samples({1, 1})).step_time, 36_ms + 20_ms));
  CHECK(near(unequal(2, 1, six, samples({2, 1}), samples({2, 1})).step_time, 24_ms + 20_ms));
  // 1.5 and 4.5 samples become 2 and 4 by largest remainder, ties to the earlier.
  CHECK(near(unequal(2, 1, six, samples({1, 3}), samples({1, 3})).step_time, 48_ms + 20_ms));
}

TEST_CASE("unequal parts are gathered as all large as the largest, or by a broadcast each") {
  // 3 + 4 ms forwards, 8 + 6 ms backwards. Parts of 30 and 10 MB: 30 MB pass a port when padded, 30 + 10 MB as broadcasts.
  CHECK(near(unequal(1, 2, kActivations, samples({3, 1}), weights({1, 1}), Algorithm::padded).step_time, 21.3_ms));
  CHECK(near(unequal(1, 2, kActivations, samples({3, 1}), weights({1, 1}), Algorithm::grouped).step_time, 21.4_ms));
  CHECK(near(unequal(1, 2, kActivations, samples({3, 1}), weights({1, 1})).step_time, 21.3_ms));
}

TEST_CASE("unequal parts of the weights even out what unlike GPUs take and hold") {
  const WorkloadShape shape{.layers = 2, .batch = 2, .parameters = 30e6, .tensor_cut = true};
  const double equal = unequal(2, 1, shape, weights({1, 1}), weights({1, 1})).step_time.value;
  // Half a layer on the slow GPU against two thirds on the fast one and a third on the slow one; products come in tiles.
  const StepReport report = unequal(2, 1, shape, weights({2, 1}), weights({2, 1}));
  CHECK(report.step_time.value == Approx(equal * 2 / 3).epsilon(1e-3));
  // 2 x 60 M parameters of 2 bytes, two thirds of them on the fullest device.
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::weights)].value == Approx(160e6));
}
