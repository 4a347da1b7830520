// Pictures of layouts that differ: inside a stage, and between pipelines that hold the same layers.
#include <catch2/catch.hpp>

#include "tests/lowering/golden/small_case.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

namespace {

Layout cut(int data, int tensor) { return {equal_axis(AxisKind::data, data), equal_axis(AxisKind::tensor, tensor)}; }

/// Two layers on the four GPUs of a node, each with a layout of its own; 10 MB a sample at 10 GB/s.
RunResult two_layers(const Layout& first, const Layout& second) {
  SmallCase small({.nodes = 1, .gpus = 4, .inside = BytesPerSecond(10e9)}, {.layers = 2, .batch = 4, .output = 10_MB},
                  {.data = 4});
  std::vector<Rule>& rules = small.part().stages[0].rules;
  for (int layer = 0; layer < 2; ++layer)
    rules.push_back({.layers = {LayerId(layer)}, .operators = "", .devices = {}, .settings = rules[0].settings});
  rules[1].settings.layout = first;
  rules[2].settings.layout = second;
  return small.run();
}

/// One sample and one row-cut layer in each of two pipelines, one of a whole GPU and one of two halves.
SmallCase whole_and_halves(double parameters) {
  SmallCase small({.nodes = 3, .nic = BytesPerSecond(100e9)},
                  {.layers = 1, .batch = 2, .parameters = parameters, .tensor_cut = true}, {.data = 3});
  auto& operators = small.workload.modules[0].types[0].operators;
  operators.erase(operators.begin());
  operators[0].forward_bytes.fixed = Bytes(1e9);
  operators[0].backward_bytes.fixed = Bytes(2e9);
  Part& part = small.part();
  part.stages.push_back(part.stages[0]);
  part.pipelines.push_back(part.pipelines[0]);
  const std::vector<DeviceId> gpus = small.cluster.gpus();
  part.stages[0].devices = {gpus[0]};
  part.stages[1].devices = {gpus[1], gpus[2]};
  for (int p = 0; p < 2; ++p) {
    part.stages[p].rules[0].settings.layout = cut(1, p + 1);
    part.pipelines[p].stages = {StageId(p)};
    part.pipelines[p].batch = 1;
  }
  return small;
}

}  // namespace

TEST_CASE("picture: sections_to_more_replicas") {
  const RunResult run = two_layers(cut(2, 2), cut(4, 1));
  CHECK(near(run.report.step_time, 2_ms + 1_ms + 2_ms + 1_ms + 4_ms));
  check_picture("sections_to_more_replicas", run);
}

TEST_CASE("picture: sections_to_fewer_replicas") {
  const RunResult run = two_layers(cut(4, 1), cut(1, 4));
  CHECK(near(run.report.step_time, 1_ms + 3_ms + 4_ms + 8_ms + 2_ms));
  check_picture("sections_to_fewer_replicas", run);
}

TEST_CASE("picture: refinement") {
  // Parameters that take 0.5 ms to be read and written in fp32 at 1 TB/s, and 2.5 ms through the port of the whole.
  const RunResult run = whole_and_halves(62.5e6).run();
  CHECK(near(run.timeline.makespan, 1_ms + 2_ms + 0.5_ms + 2.5_ms + 0.5_ms));
  check_picture("refinement", run);
}
