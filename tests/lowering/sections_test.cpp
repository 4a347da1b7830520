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
