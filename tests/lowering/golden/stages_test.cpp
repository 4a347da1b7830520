// Pictures of stages that are unequal, that send messages, or that hold more or fewer micro-batches.
#include <catch2/catch.hpp>

#include "tests/lowering/golden/small_case.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

TEST_CASE("picture: unequal_stages") {
  const RunResult run =
      SmallCase({.nodes = 2}, {.layers = 3, .batch = 4}, {.stages = 2, .micro_batches = 4, .layers = {1, 2}}).run();
  CHECK(near(run.report.step_time, 3_ms + 6_ms * 4.0));
  check_picture("unequal_stages", run);
}

TEST_CASE("picture: mixed_gpus") {
  const RunResult run = SmallCase({.nodes = 2, .slow_nodes = 1}, {.layers = 3, .batch = 3},
                                  {.stages = 2, .micro_batches = 3, .layers = {2, 1}})
                            .run();
  CHECK(near(run.report.step_time, 6_ms * (3.0 + 2 - 1)));
  check_picture("mixed_gpus", run);
}

TEST_CASE("picture: transfers_block") {
  const RunResult run =
      SmallCase({.nodes = 2}, {.layers = 2, .batch = 3, .output = 10_MB}, {.stages = 2, .micro_batches = 3}).run();
  CHECK(near(run.report.step_time, 3_ms * (3.0 + 2 - 1) + 1_ms * (2.0 + 2.0)));
  check_picture("transfers_block", run);
}

TEST_CASE("picture: transfers_overlap") {
  SmallCase small({.nodes = 2}, {.layers = 2, .batch = 3, .output = 10_MB}, {.stages = 2, .micro_batches = 3});
  small.workload.software.overlap_pipeline = true;
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 2.0 * (3_ms + 3_ms + 2.0 * 1_ms)));
  check_picture("transfers_overlap", run);
}

TEST_CASE("picture: transfers_interleaved") {
  const RunResult run = SmallCase({.nodes = 2}, {.layers = 4, .batch = 2, .output = 10_MB},
                                  {.stages = 2, .micro_batches = 2, .chunks = 2, .schedule = "interleaved"})
                            .run();
  CHECK(near(run.report.step_time, 4_ms + 3_ms + 5_ms + 3.0 * (1_ms + 2_ms)));
  check_picture("transfers_interleaved", run);
}

TEST_CASE("picture: in_flight_fewer") {
  SmallCase small({.nodes = 3}, {.layers = 3, .batch = 4}, {.stages = 3, .micro_batches = 4});
  small.part().stages[0].in_flight = 2;
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 9_ms + 6_ms + 9_ms));
  check_picture("in_flight_fewer", run);
}

TEST_CASE("picture: in_flight_more") {
  SmallCase small({.nodes = 2}, {.layers = 2, .batch = 5, .output = 20_MB}, {.stages = 2, .micro_batches = 5});
  small.workload.software.overlap_pipeline = true;
  small.part().stages[0].in_flight = 4;
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 1_ms + 2_ms + 5.0 * 3_ms + 2_ms + 2_ms));
  check_picture("in_flight_more", run);
}

TEST_CASE("picture: replicas_join") {
  SmallCase small({.nodes = 3}, {.layers = 2, .batch = 6, .output = 10_MB}, {.stages = 2, .micro_batches = 3});
  const std::vector<DeviceId> gpus = small.cluster.gpus();
  small.part().stages[0].devices = {gpus[0], gpus[1]};
  small.part().stages[1].devices = {gpus[2]};
  small.settings().layout = Layout{equal_axis(AxisKind::data, 2)};
  small.workload.software.overlap_pipeline = true;
  small.part().stages[0].in_flight = 3;
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, 1_ms + 2_ms + 3.0 * (2_ms + 4_ms) + 2_ms + 2_ms));
  check_picture("replicas_join", run);
}
