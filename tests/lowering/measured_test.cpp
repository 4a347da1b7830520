// Layers that were measured instead of computed: step times by hand, bytes over a cut, memory, and what is refused.
#include <catch2/catch.hpp>

#include "sim/cost/measured_layer.hpp"
#include "tests/lowering/run_plan.hpp"
#include "tests/lowering/toy.hpp"

using namespace trainyard;
using namespace trainyard::toy;

namespace {

/// Times of one sample on a "fast" GPU; twice those on a "slow" one.
struct Measured {
  std::string name;
  Seconds forward{}, backward{};
  Bytes output{}, saved{};
  std::vector<LayerId> inputs{};
};

Workload workload_of(const std::vector<Measured>& layers, double batch) {
  Workload workload = make_workload({.batch = batch});
  Module& module = workload.modules[0];
  module.layers.clear();
  module.types.clear();
  workload.data.sequence_length = 0;
  for (const Measured& layer : layers) {
    LayerProfile profile;
    profile.output = layer.output;
    profile.parameters = {{1, 1e6}};
    profile.curves = {{"fast", 1, {{1, layer.forward, layer.backward, layer.saved}}, ""},
                      {"slow", 1, {{1, layer.forward * 2, layer.backward * 2, layer.saved}}, ""}};
    module.layers.push_back({layer.name, id_at<LayerTypeId>(module.types.size()), layer.inputs, {}});
    module.types.push_back({layer.name, {}, profile});
  }
  return workload;
}

StepReport report_of(const Workload& workload, const Cluster& cluster, const PlanShape& shape) {
  const Plan plan = make_plan(shape, cluster, workload);
  CHECK(plan.check(cluster, workload).empty());
  return run_plan(plan, workload, cluster).report;
}

std::string refusal(const Workload& workload, const Cluster& cluster, const PlanShape& shape) {
  const std::vector<std::string> problems = make_plan(shape, cluster, workload).check(cluster, workload);
  return problems.empty() ? "" : problems.front();
}

}  // namespace

TEST_CASE("a pipeline of measured layers takes the sum of its stages and the slowest for each further micro-batch") {
  const Cluster cluster = make_cluster({.nodes = 2});
  const Workload workload = workload_of({{"conv", 1_ms, 2_ms}, {"fc", 2_ms, 4_ms}}, 4);
  // 3 + 6 + (4 - 1) x 6.
  CHECK(near(report_of(workload, cluster, {.stages = 2, .micro_batches = 4, .layers = {1, 1}}).step_time, 27_ms));
}

TEST_CASE("each GPU type has its own times") {
  const Cluster cluster = make_cluster({.nodes = 2, .slow_nodes = 1});
  const Workload workload = workload_of({{"conv", 1_ms, 2_ms}, {"fc", 2_ms, 4_ms}}, 4);
  // fc on the slow GPU takes 12: 3 + 12 + 3 x 12.
  CHECK(near(report_of(workload, cluster, {.stages = 2, .micro_batches = 4, .layers = {1, 1}}).step_time, 51_ms));
}

TEST_CASE("a cut sends what is read behind it, each output once") {
  const Cluster cluster = make_cluster({.nodes = 2});
  // d reads a and b, c reads b: a and b cross a cut behind b. 10 MB/sample of a and 20 MB of b at 10 GB/s, both ways.
  const std::vector<Measured> layers{{"a", 1_ms, 2_ms, 10_MB}, {"b", 1_ms, 2_ms, 20_MB}, {"c", 1_ms, 2_ms, 30_MB, {}, {LayerId(1)}},
                                     {"d", 1_ms, 2_ms, 40_MB, {}, {LayerId(0), LayerId(1), LayerId(2)}}};
  const Workload workload = workload_of(layers, 1);
  const StepReport report = report_of(workload, cluster, {.stages = 2, .layers = {2, 2}});
  CHECK(near(report.step_time, 18_ms));
  CHECK(near(report.time.pipeline, 6_ms));
  CHECK(measured_crossing(workload.modules[0], LayerId(0)) == 10_MB);
  CHECK(measured_crossing(workload.modules[0], LayerId(2)) == 60_MB);
  CHECK(measured_crossing(workload.modules[0], LayerId(3)) == Bytes(0));
}

TEST_CASE("full recompute repeats a measured forward pass and keeps a layer's input") {
  const Cluster cluster = make_cluster({});
  Workload workload = workload_of({{"a", 1_ms, 2_ms, 10_MB, 100_MB}, {"b", 1_ms, 2_ms, 10_MB, 100_MB}}, 1);
  const StepReport plain = report_of(workload, cluster, {});
  const StepReport again = report_of(workload, cluster, {.recompute = RecomputeKind::full});
  CHECK(near(plain.step_time, 6_ms));
  CHECK(near(again.step_time, 8_ms));
  CHECK(near(again.time.recompute, 2_ms));
  const auto activations = [](const StepReport& report) { return report.memory.at_peak[std::size_t(MemoryClass::activations)]; };
  CHECK(activations(plain) == 200_MB);
  // Samples themselves are not counted: b keeps the output of a, which is gone when a is rebuilt, and one layer is rebuilt at a time.
  CHECK(activations(again) == 100_MB);
}

TEST_CASE("the first of two stages keeps two micro-batches of 1f1b") {
  const Cluster cluster = make_cluster({.nodes = 2});
  const Workload workload = workload_of({{"a", 1_ms, 2_ms, {}, 300_MB}, {"b", 1_ms, 2_ms, {}, 300_MB}}, 4);
  const StepReport report = report_of(workload, cluster, {.stages = 2, .micro_batches = 4, .layers = {1, 1}});
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::activations)] == 600_MB);
  CHECK(report.memory.at_peak[std::size_t(MemoryClass::weights)] == Bytes(2e6));
}

TEST_CASE("what was not measured is named: FLOPs, tokens, micro-batches beyond the range, a scaled type") {
  const Cluster cluster = make_cluster({});
  Workload workload = workload_of({{"a", 1_ms, 2_ms}}, 4);
  workload.modules[0].types[0].profile->curves[0].rule = "times of slow x 0.5 (datasheet)";
  const StepReport report = report_of(workload, cluster, {.micro_batches = 2});
  CHECK_FALSE(report.flops_known);
  CHECK(report.tokens == 0);
  CHECK(report.samples == 4);
  CHECK(near(report.step_time, 12_ms));
  CHECK(report.extrapolated == std::vector<std::string>{"fast, tensor 1: times of slow x 0.5 (datasheet)",
                                                        "fast, tensor 1: micro-batches of 2, measured are 1 only"});
}

TEST_CASE("a Plan that asks for what was not measured is refused by name") {
  const Cluster cluster = make_cluster({.gpus = 2});
  Workload workload = workload_of({{"conv", 1_ms, 2_ms}}, 4);
  CHECK(refusal(workload, cluster, {.tensor = 2}) == "stage 0: layer conv was not measured at tensor 2 on fast; measured: 1");
  CHECK(refusal(workload, cluster, {.context = 2}) == "stage 0: a context axis cuts sequences, the profile measures whole ones");
  CHECK(refusal(workload, cluster, {.data = 2, .recompute = RecomputeKind::selective}) ==
        "stage 0: recompute: selective needs a layer's operators, its profile measures it whole");
  CHECK(refusal(workload, cluster, {.data = 2, .schedule = "zb_h1"}) ==
        "schedule zb_h1 splits the backward pass, the profile measures it whole");
  workload.modules[0].types[0].profile->curves = {{"V100-SXM2-16GB", 1, {{1, 1_ms, 2_ms, {}}}, ""}, {"slow", 1, {{1, 1_ms, 2_ms, {}}}, ""}};
  CHECK(refusal(workload, cluster, {.data = 2}) == "stage 0: the workload has no profile of fast; it has V100-SXM2-16GB, slow");
}
