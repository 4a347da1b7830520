#include <catch2/catch.hpp>

#include "sim/cost/memory.hpp"
#include "sim/lowering/schedule.hpp"

using namespace trainyard;

namespace {

std::string order_of(const std::string& schedule, const StagePosition& at) {
  StageRole role;
  role.position = at.stage;
  role.stages = at.stages;
  role.micro_batches = at.micro_batches;
  role.chunks.resize(at.chunks);
  role.in_flight = passes_in_flight(schedule, at, std::nullopt);
  std::string all;
  for (const ScheduledOperation& op : stage_schedule(schedule, role)) {
    all += op.kind + std::to_string(op.micro_batch);
    if (at.chunks > 1) all += "." + std::to_string(op.chunk);
    all += " ";
  }
  return all;
}

}  // namespace

TEST_CASE("one forward one backward after the warm-up") {
  CHECK(order_of("1f1b", {1, 4, 1, 4}) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(order_of("1f1b", {3, 4, 1, 4}) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
}

TEST_CASE("all forward passes first") { CHECK(order_of("gpipe", {1, 2, 1, 3}) == "F0 F1 F2 B0 B1 B2 "); }

TEST_CASE("interleaved chunks take p micro-batches in turn") {
  CHECK(order_of("interleaved", {1, 2, 2, 2}) == "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0 ");
  CHECK(order_of("interleaved", {0, 2, 2, 2}) == "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0 ");
}

TEST_CASE("later stages put their weight gradients off for longer") {
  CHECK(order_of("zb_h1", {0, 2, 1, 3}) == "F0 F1 B0 W0 F2 B1 W1 B2 W2 ");
  CHECK(order_of("zb_h1", {1, 2, 1, 3}) == "F0 B0 F1 B1 W0 F2 B2 W1 W2 ");
}
