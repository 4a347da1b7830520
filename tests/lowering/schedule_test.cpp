#include <catch2/catch.hpp>

#include "sim/lowering/schedule.hpp"

using namespace trainyard;

namespace {

std::string text(const std::vector<ScheduledOperation>& order) {
  std::string all;
  for (const ScheduledOperation& op : order) all += (op.forward ? "F" : "B") + std::to_string(op.micro_batch) + " ";
  return all;
}

}  // namespace

TEST_CASE("one forward one backward after the warm-up") {
  CHECK(text(stage_schedule(4, 3)) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(text(stage_schedule(4, 1)) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
}

TEST_CASE("all forward passes first") { CHECK(text(stage_schedule(3, 3)) == "F0 F1 F2 B0 B1 B2 "); }
