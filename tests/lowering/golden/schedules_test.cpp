// Pictures of the orders in which stages work on their micro-batches, without communication.
#include <catch2/catch.hpp>

#include "tests/lowering/golden/small_case.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

namespace {

bool splits_backward(const std::string& schedule) {
  return schedule == "zb_h1" || schedule == "zb_v" || schedule == "dualpipe" || schedule == "table";
}

/// `F0B0W0`, single digits.
Lane compute_lane(const Stage& stage, const std::string& order) {
  Lane lane{stage.devices, "compute", {}};
  for (std::size_t i = 0; i < order.size(); i += 2) lane.entries.push_back({{order[i], {}, order[i + 1] - '0', 0}, {}});
  return lane;
}

/// What one F, B or W of a product takes: a stage of one device and one micro-batch takes three.
Seconds product_pass() {
  return SmallCase({}, {.layers = 1, .batch = 1, .product = true}, {}).run().report.step_time / 3.0;
}

/// One step of a layer a stage and chunk: F takes 1 ms and B 2 ms, or F, B and W equally long where `shape.schedule`
/// splits B.
RunResult one_step(const PlanShape& shape) {
  return SmallCase({.nodes = shape.stages},
                   {.layers = shape.stages * shape.chunks,
                    .batch = double(shape.micro_batches),
                    .product = splits_backward(shape.schedule)},
                   shape)
      .run();
}

}  // namespace

TEST_CASE("picture: gpipe") {
  const RunResult run = one_step({.stages = 3, .micro_batches = 4, .schedule = "gpipe"});
  CHECK(near(run.report.step_time, 3_ms * (4.0 + 3 - 1)));
  check_picture("gpipe", run);
}

TEST_CASE("picture: 1f1b") {
  const RunResult run = one_step({.stages = 4, .micro_batches = 6, .schedule = "1f1b"});
  CHECK(near(run.report.step_time, 3_ms * (6.0 + 4 - 1)));
  check_picture("1f1b", run);
}

TEST_CASE("picture: interleaved") {
  const RunResult run = one_step({.stages = 3, .micro_batches = 3, .chunks = 2, .schedule = "interleaved"});
  CHECK(near(run.report.step_time, 3_ms * (2.0 * 3 + 3 - 1)));
  check_picture("interleaved", run);
}

TEST_CASE("picture: zb_h1") {
  const RunResult run = one_step({.stages = 3, .micro_batches = 5, .schedule = "zb_h1"});
  CHECK(run.report.bubble_fraction == Approx(2.0 / (3 * 5 + 3 - 1)).epsilon(1e-9));
  check_picture("zb_h1", run);
}

TEST_CASE("picture: zb_v") {
  // No stage waits in the steady state (Qi et al., arXiv 2401.10241, section 6); a lone step has the ramp of the second
  // stage.
  const SmallCase small({.nodes = 2}, {.layers = 4, .batch = 4, .product = true},
                        {.stages = 2, .micro_batches = 4, .chunks = 2, .schedule = "zb_v"});
  CHECK(near(small.run(false, 4).report.step_time, product_pass() * (2.0 * 3 * 4)));
  const RunResult run = small.run();
  CHECK(near(run.timeline.makespan, product_pass() * (2.0 * 3 * 4 + 1)));
  check_picture("zb_v", run);
}

TEST_CASE("picture: dualpipe") {
  const RunResult run = SmallCase({.nodes = 4}, {.layers = 4, .batch = 8, .product = true},
                                  {.stages = 4, .micro_batches = 4, .schedule = "dualpipe"})
                            .run();
  CHECK(near(run.timeline.makespan, product_pass() * (6.0 * 4 + (4 / 2 - 1))));
  check_picture("dualpipe", run);
}

TEST_CASE("picture: breadth_first") {
  const RunResult run = one_step({.stages = 2, .micro_batches = 3, .chunks = 2, .schedule = "breadth_first"});
  CHECK(near(run.report.step_time, 3_ms * (2.0 * 3 + 2 - 1)));
  check_picture("breadth_first", run);
}

TEST_CASE("picture: order_table") {
  SmallCase small({.nodes = 2}, {.layers = 2, .batch = 3, .product = true},
                  {.stages = 2, .micro_batches = 3, .schedule = "table"});
  const std::vector<Stage>& stages = small.part().stages;
  small.plan.phases[0].lanes = {compute_lane(stages[0], "F0F1B0W0F2B1W1B2W2"),
                                compute_lane(stages[1], "F0B0F1B1W0F2B2W1W2")};
  const RunResult run = small.run();
  CHECK(near(run.report.step_time, product_pass() * 10.0));
  check_picture("order_table", run);
}
