#include "sim/report/ranking.hpp"

#include <catch2/catch.hpp>

#include "tests/report/made_up.hpp"

using namespace trainyard;
using Order = std::vector<std::size_t>;

namespace {

using enum Ranking;

/// A block with its own cluster and workload.
struct Block {
  Cluster cluster = small_cluster();
  Workload workload = small_workload();
  TableBlock block;
  explicit Block(std::vector<CaseResult> results) {
    block.scenario = "small";
    block.cluster = &cluster;
    block.workload = &workload;
    block.results = std::move(results);
  }
  Order order(Ranking by) {
    block.ranking = by;
    return ranked(block);
  }
  std::string sentence(Ranking by) { return comparison(block, order(by)); }
};

constexpr FlopsPerSecond kAll = 600_TFLOPS, kFast = 400_TFLOPS;

}  // namespace

TEST_CASE("throughput ranks by tokens a second, those without a number last in file order") {
  Block b({did_not_fit("a"), ran("b", 2_s, kAll, 3.6_usd_per_h), failed("c", "x"), ran("d", 1_s, kAll, 36_usd_per_h),
           ran("e", 2_s, kAll, 1_usd_per_h)});
  CHECK(b.order(throughput) == Order{3, 1, 4, 0, 2});
  CHECK(b.order(cost) == Order{4, 1, 3, 0, 2});
  CHECK(b.order(file_order) == Order{0, 1, 2, 3, 4});
}

TEST_CASE("an unknown price stands after known ones and before what did not run") {
  Block b({did_not_fit("a"), ran("b", 1_s, kAll, 3.6_usd_per_h), ran("c", 2_s, kAll, 3.6_usd_per_h)});
  b.block.results[1].step.price_known = false;
  CHECK(b.order(cost) == Order{2, 1, 0});
  CHECK(cheapest(b.block) == -1);  // of one known price nothing is cheapest
}

TEST_CASE("the cheapest is one, or nobody") {
  Block b({ran("a", 1_s, kAll, 7.2_usd_per_h), ran("b", 2_s, kAll, 1.8_usd_per_h)});
  CHECK(cheapest(b.block) == 1);
  b.block.results[1].step.price = b.block.results[0].step.price * 0.5;  // twice the time at half the price
  CHECK(cheapest(b.block) == -1);
}

TEST_CASE("the sentence says how much faster, on which share of the FLOP/s, at which price") {
  // 600 TFLOPS of 600 against 400 of 600; 1.6 s against 2 s; 21.6 against 14.4 USD/h: 21.6·1.6 / (14.4·2) = 1.2
  Block b({ran("all", Seconds(1.6), kAll, 21.6_usd_per_h), ran("fast", 2_s, kFast, 14.4_usd_per_h)});
  CHECK(b.sentence(throughput) ==
        "all is 25.0 % faster than fast: it uses 100.0 % of the cluster's FLOP/s, fast 66.7 %; a token costs 20.0 % "
        "more.");
  CHECK(b.sentence(cost) ==
        "a token of fast costs 16.7 % less than one of all: it uses 66.7 % of the cluster's FLOP/s, all 100.0 %; it is "
        "20.0 % "
        "slower.");
}

TEST_CASE("on equal devices the sentence compares the MFU") {
  Block b({ran("a", 1_s, kAll, 3.6_usd_per_h), ran("b", 2_s, kAll, 3.6_usd_per_h)});
  CHECK(b.sentence(throughput) ==
        "a is 100.0 % faster than b: both use 100.0 % of the cluster's FLOP/s, at an MFU of 20.0 % and 10.0 %; a token "
        "costs "
        "50.0 % less.");
  b.block.results[0].step.price_known = false;
  CHECK(b.sentence(throughput) ==
        "a is 100.0 % faster than b: both use 100.0 % of the cluster's FLOP/s, at an MFU of 20.0 % and 10.0 %.");
  b.block.results[1].step.step_time = 1_s;
  CHECK_THAT(b.sentence(throughput), Catch::StartsWith("a is as fast as b:"));
}

TEST_CASE("there is no sentence without two numbers, nor without a ranking") {
  Block b({ran("a", 1_s, kAll, 3.6_usd_per_h), did_not_fit("b")});
  CHECK(b.sentence(throughput).empty());
  Block two({ran("a", 1_s, kAll, 3.6_usd_per_h), ran("b", 1_s, kAll, 3.6_usd_per_h)});
  CHECK(two.sentence(file_order).empty());
}

TEST_CASE("strategies of one name are numbered") {
  Block b({failed("fixed", "x"), failed("megatron", "x"), failed("fixed", "x")});
  CHECK(row_names(b.block) == std::vector<std::string>{"fixed #1", "megatron", "fixed #2"});
}
