// Activations kept every n layers, and recompute that differs between the layers of a stage.
#include <catch2/catch.hpp>

#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// Six layers of one sample on one device: 1 ms forward, 2 ms backward, 100 MB of activations and 10 MB of input each.
StepReport six_layers(const std::vector<Rule>& rules) {
  const Cluster cluster = make_cluster({});
  const Workload workload = make_workload({.layers = 6, .batch = 1, .output = 10_MB, .saved = 100_MB});
  Plan plan = make_plan({}, cluster, workload);
  std::vector<Rule>& own = plan.phases[0].parts[0].stages[0].rules;
  own.insert(own.end(), rules.begin(), rules.end());
  REQUIRE(plan.check(cluster, workload).empty());
  return run_plan(plan, workload, cluster).report;
}

Rule recompute(std::vector<LayerId> layers, Recompute how) {
  Rule rule;
  rule.layers = std::move(layers);
  rule.settings.recompute = how;
  return rule;
}

Bytes activations(const StepReport& report) { return report.memory.at_peak[std::size_t(MemoryClass::activations)]; }

}  // namespace

TEST_CASE("a checkpoint every n layers costs one forward pass and holds the inputs of all blocks and one block whole") {
  CHECK(near(six_layers({}).step_time, 18_ms));
  CHECK(activations(six_layers({})) == 610_MB);  // six layers and the gradient of an input
  const StepReport full = six_layers({recompute({}, {RecomputeKind::full, 1})});
  CHECK(near(full.step_time, 24_ms));
  CHECK(activations(full) == 160_MB);    // six inputs, one layer's other 90 MB, the gradient
  const StepReport blocks = six_layers({recompute({}, {RecomputeKind::every, 3})});
  CHECK(near(blocks.step_time, 24_ms));
  CHECK(near(blocks.time.recompute, 6_ms));
  CHECK(activations(blocks) == 320_MB);  // two inputs, 290 MB of a block, the gradient
  CHECK(activations(six_layers({recompute({}, {RecomputeKind::every, 4})})) == 410_MB);  // the input of the block of four, its other 390 MB, the gradient; the block of two is done
  CHECK(activations(six_layers({recompute({}, {RecomputeKind::every, 1})})) == activations(full));
}

TEST_CASE("recompute may differ between the layers of a stage") {
  const StepReport report = six_layers({recompute({LayerId(0), LayerId(1)}, {RecomputeKind::full, 1})});
  CHECK(near(report.step_time, 20_ms));
  CHECK(near(report.time.recompute, 2_ms));
  CHECK(activations(report) == 430_MB);  // two inputs, four layers, the gradient; the four are gone when a layer is done again
}

TEST_CASE("sharded weights are gathered for the rebuilt block and stay for the layer that turns round") {
  const Cluster cluster = make_cluster({.nodes = 2});
  const Workload workload = make_workload({.layers = 2, .batch = 2, .parameters = 5e6});
  Plan plan = make_plan({.data = 2}, cluster, workload);
  Settings& settings = plan.phases[0].parts[0].stages[0].rules[0].settings;
  settings.layout = Layout{equal_axis(AxisKind::shard, 2)};
  settings.zero = 3;
  settings.recompute = Recompute{RecomputeKind::every, 2};
  const Router router(cluster);
  std::vector<int> gathered;
  const Lowered lowered = lower(plan, workload, cluster, router, {});
  for (const Task& task : lowered.graph.tasks)
    if (task.label.detail == "gather weights") gathered.push_back(task.label.layer);
  CHECK(gathered == std::vector{0, 1, 0, 1, 0});  // forward 0 1, again 0 1 with the backward pass of 1, backward 0
}

TEST_CASE("redundant forward passes follow the own ones, and the next stage's states lie there too") {
  const int m = GENERATE(2, 4, 8);
  const Cluster cluster = make_cluster({.nodes = 2});
  Workload workload = make_workload({.layers = 3, .batch = double(m), .parameters = 1e6});
  workload.optimizer = "adam";
  const auto run = [&](bool redundant) {
    Plan plan = make_plan({.stages = 2, .micro_batches = m, .layers = {1, 2}}, cluster, workload);
    for (Stage& stage : plan.phases[0].parts[0].stages) {
      stage.rules[0].settings.zero = 0;
      stage.rules[0].settings.redundant_forward = redundant;
    }
    REQUIRE(plan.check(cluster, workload).empty());
    return run_plan(plan, workload, cluster).report;
  };
  const StepReport plain = run(false), redundant = run(true);
  // The second stage: one layer's forward until it starts, then 2 + 4 ms each, with the first stage's 1 ms again.
  const Seconds update = plain.step_time - 1_ms - 6_ms * double(m) - 2_ms;
  CHECK(near(redundant.step_time, 1_ms + 7_ms * double(m) + 2_ms + update));
  CHECK(near(redundant.time.recompute, (1_ms + 2_ms) * double(m) / 2));  // the mean over both devices
  const auto weights = [](const StepReport& report) { return report.memory.at_peak[std::size_t(MemoryClass::weights)]; };
  CHECK(weights(redundant).value == Approx(weights(plain).value * 3 / 2));  // two layers on the fullest device, now three
}
