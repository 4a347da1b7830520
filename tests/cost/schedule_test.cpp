#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "sim/cost/schedule.hpp"

using namespace trainyard;

namespace {

std::string order_of(const std::string& schedule, const StagePosition& at) {
  std::string all;
  for (const ScheduledOperation& op : stage_order(schedule, at)) {
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

TEST_CASE("pairs: one pass more is held, so that the last stage has a backward pass beside another micro-batch's forward pass") {
  CHECK(order_of("1f1b", {3, 4, 1, 4, std::nullopt, true}) == "F0 F1 B0 F2 B1 F3 B2 B3 ");
  CHECK(passes_in_flight("1f1b", {0, 4, 1, 8, std::nullopt, true}) == 5);
  CHECK(passes_in_flight("interleaved", {0, 4, 2, 8, std::nullopt, true}) == 12);
  CHECK(passes_in_flight("1f1b", {3, 4, 1, 8, 1, true}) == 1);  // the Plan's own bound
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

TEST_CASE("micro-batches in flight") {
  CHECK(passes_in_flight("1f1b", {0, 4, 1, 8}) == 4);
  CHECK(passes_in_flight("1f1b", {3, 4, 1, 8}) == 1);
  CHECK(passes_in_flight("1f1b", {0, 4, 1, 2}) == 2);
  CHECK(passes_in_flight("gpipe", {3, 4, 1, 8}) == 8);
  CHECK(passes_in_flight("1f1b", {0, 4, 1, 8, 6}) == 6);
  CHECK(passes_in_flight("interleaved", {0, 4, 2, 8}) == 11);
  CHECK(passes_in_flight("interleaved", {3, 4, 8, 8}) == 29);  // memory.md §7.2
}

TEST_CASE("interleaved chunks take a smaller last group where the micro-batches are no multiple") {
  CHECK(order_of("interleaved", {1, 2, 2, 3}) == "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F2.1 B1.0 B2.1 B2.0 ");
}

TEST_CASE("breadth first takes all micro-batches through one chunk, and back") {
  CHECK(order_of("breadth_first", {0, 2, 2, 2}) == "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0 ");
}

TEST_CASE("colocated: the first stage works before and behind 1f1b over the others") {
  CHECK(order_of("colocated", {0, 3, 1, 3}) == "F0 F1 F2 B0 B1 B2 ");
  CHECK(order_of("colocated", {1, 3, 1, 3}) == "F0 F1 B0 F2 B1 B2 ");
  CHECK(order_of("colocated", {2, 3, 1, 3}) == "F0 B0 F1 B1 F2 B2 ");
  // Three turns of the encoder forward, six of the language model, three of the encoder backward.
  CHECK(stage_order("colocated", {0, 3, 1, 3})[2].turn == 2);
  CHECK(stage_order("colocated", {1, 3, 1, 3}).front().turn == 3);
  CHECK(stage_order("colocated", {1, 3, 1, 3}).back().turn == 8);
  CHECK(stage_order("colocated", {0, 3, 1, 3})[3].turn == 9);
}

TEST_CASE("zb_v fills the stages there and back") {
  // Two stages: the first holds chunks 0 and 3, the last 1 and 2.
  CHECK(order_of("zb_v", {0, 2, 2, 3}) ==
        "F0.0 F1.0 F2.0 F0.1 B0.1 W0.1 F1.1 B1.1 W1.1 B0.0 W0.0 F2.1 B2.1 W2.1 B1.0 W1.0 B2.0 W2.0 ");
  CHECK(order_of("zb_v", {1, 2, 2, 3}) ==
        "F0.0 F0.1 F1.0 F1.1 B0.1 W0.1 F2.0 B0.0 W0.0 F2.1 B1.1 W1.1 B1.0 B2.1 B2.0 W1.0 W2.1 W2.0 ");
}

TEST_CASE("zb_v without enough micro-batches leaves out what it lacks") {
  for (const int m : {1, 2, 3, 5})
    for (int stage = 0; stage < 4; ++stage) CHECK(stage_order("zb_v", {stage, 4, 2, m}).size() == std::size_t(6 * m));
}

TEST_CASE("dualpipe: both stages of a device do every pass once") {
  const int p = GENERATE(2, 4, 8), extra = GENERATE(0, 1, 6);
  const int m = p + extra;
  for (int stage = 0; stage < p; ++stage) {
    const StageOrder own = stage_order("dualpipe", {stage, p, 1, m}), other = stage_order("dualpipe", {p - 1 - stage, p, 1, m});
    std::set<int> turns;
    for (const StageOrder& order : {own, other})
      for (const ScheduledOperation& op : order) CHECK(turns.insert(op.turn).second);
    CHECK(std::ranges::count(own, 'F', &ScheduledOperation::kind) == m);
    CHECK(std::ranges::count(own, 'B', &ScheduledOperation::kind) == m);
    const auto split = std::ranges::count(own, true, &ScheduledOperation::split) + std::ranges::count(other, true, &ScheduledOperation::split);
    CHECK(std::ranges::count(own, 'W', &ScheduledOperation::kind) + std::ranges::count(other, 'W', &ScheduledOperation::kind) == split);
  }
}

TEST_CASE("a table splits the backward passes that have a W") {
  std::vector<Entry> entries;
  for (const char kind : {'F', 'B', 'W'}) entries.push_back({{kind, {}, 0, 0}, {}});
  entries.push_back({{'F', {}, 1, 0}, {}});
  entries.push_back({{'B', {}, 1, 0}, {}});
  const StageOrder order = order_of_table(entries);
  CHECK(order[0].first_use);
  CHECK(order[1].split);
  CHECK_FALSE(order[4].split);
  CHECK(order[4].last_gradients);
  CHECK(most_held(order) == 1);
}
