// Pictures of the orders in which stages work on their micro-batches, without communication.
#include <catch2/catch.hpp>

#include "tests/lowering/golden/small_case.hpp"

using namespace trainyard;
using namespace trainyard::toy;
using namespace trainyard::golden;

namespace {

/// One step of a layer a stage and chunk: F takes 1 ms and B 2 ms, or F, B and W equally long where `shape.schedule`
/// splits B.
RunResult one_step(const PlanShape& shape) {
  return SmallCase({.nodes = shape.stages},
                   {.layers = shape.stages * shape.chunks,
                    .batch = double(shape.micro_batches),
                    .product = shape.schedule == "zb_h1"},
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
