#include "sim/report/table.hpp"

#include <catch2/catch.hpp>

#include "tests/report/made_up.hpp"

using namespace trainyard;

namespace {

TableBlock block_of(const Cluster& cluster, const Workload& workload, std::vector<CaseResult> results) {
  return {"small", "", "throughput", &cluster, &workload, Ranking::throughput, std::move(results)};
}

}  // namespace

TEST_CASE("compare: heading, ranked rows, reasons, sentence, plans") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  const TableBlock block = block_of(cluster, workload,
                                    {did_not_fit("large"), ran("fast_only", 2_s, 400_TFLOPS, 14.4_usd_per_h),
                                     ran("all_devices", Seconds(1.6), 600_TFLOPS, 21.6_usd_per_h)});
  CHECK("\n" + to_table({block}, {}) == R"(
small   tiny · sequence 1,024 · global batch 64 · fp16   2 x cloud.fast (4 Fast) + 2 x s (4 Slow)   objective: throughput

  #  strategy     tokens/s     MFU   step  bubble  exposed  fullest device         USD/h  USD/M tokens
  1  all_devices     6,400  12.5 %  1.6 s  12.5 %    5.0 %  12.0 / 16.0 GB  s.0.1  21.60         0.938
  2  fast_only       5,120  15.0 %    2 s  12.5 %    5.0 %  12.0 / 16.0 GB  s.0.1  14.40         0.781  cheapest
  -  large        does not fit: s.0.1 lacks 4 GB

  all_devices is 25.0 % faster than fast_only: it uses 100.0 % of the cluster's FLOP/s, fast_only 66.7 %; a token costs 20.0 % more.
  all_devices before fast_only: computing 2 s → 1.6 s a step
  plan 1: PP2 · micro-batch 1
    time: forward 100.0 %
  plan 2: PP2 · micro-batch 1
    time: forward 100.0 %
)");
}

TEST_CASE("run keeps the order of the file and compares nothing") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock block = block_of(
      cluster, workload,
      {ran("slow", 2_s, 400_TFLOPS, 1_usd_per_h), did_not_fit("large"), ran("quick", 1_s, 600_TFLOPS, 1_usd_per_h)});
  block.results[0].step.price_known = false;
  block.objective = "";
  block.ranking = Ranking::file_order;
  const std::string text = to_table({block}, {});
  CHECK(text.find("1  slow") < text.find("-  large"));
  CHECK(text.find("-  large") < text.find("3  quick"));
  CHECK_THAT(text, !Catch::Contains("faster than") && !Catch::Contains("objective"));
  CHECK_THAT(text, Catch::Contains("      ?             ?\n"));  // price and price a token
}

TEST_CASE("a rate with the error of measured runs like it, and once whose errors these are") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock block = block_of(cluster, workload, {ran("a", 2_s, 400_TFLOPS, 1_usd_per_h), ran("b", 4_s, 400_TFLOPS, 1_usd_per_h)});
  for (CaseResult& result : block.results) {
    result.error_band = 0.096;
    result.error_band_from = ErrorBand{"Ampere, 1 node", 80, 0.04, -0.11, 0.08, 0.096};
  }
  const std::string text = to_table({block}, {});
  CHECK_THAT(text, Catch::Contains("  1  a         5,120 ±10 %") && Catch::Contains("  2  b         2,560 ±10 %"));
  CHECK_THAT(text, Catch::EndsWith("\n  ±: within it lay the error of 8 of 10 of 80 measured runs of Ampere, 1 node (10 %)\n"));
}

TEST_CASE("without any number there are no empty columns") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  const TableBlock block = block_of(cluster, workload, {failed("a", "first\nsecond"), did_not_fit("b")});
  const std::string text = to_table({block}, {});
  CHECK_THAT(text, Catch::EndsWith("objective: throughput\n\n"
                                   "  -  a  error: first\n"
                                   "        second\n"
                                   "  -  b  does not fit: s.0.1 lacks 4 GB\n"));
}

TEST_CASE("several variants are several blocks") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock one = block_of(cluster, workload, {failed("a", "x")}), two = one;
  one.variant = "thin";
  two.variant = "wide";
  const std::string text = to_table({one, two}, {});
  CHECK_THAT(text, Catch::StartsWith("small · thin   "));
  CHECK_THAT(text, Catch::Contains("error: x\n\n\nsmall · wide   "));
}

TEST_CASE("a long heading is broken") {
  const Cluster cluster = small_cluster();
  Workload workload = small_workload();
  workload.model = std::string(150, 'm');
  const std::string text = to_table({block_of(cluster, workload, {failed("a", "x")})}, {});
  CHECK_THAT(text, Catch::StartsWith("small\n  mmm"));
  CHECK_THAT(text, Catch::Contains("\n  2 x cloud.fast (4 Fast) + 2 x s (4 Slow)\n  objective: throughput\n\n"));
}

TEST_CASE("colour only when asked for") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  const TableBlock block = block_of(cluster, workload, {failed("a", "x")});
  CHECK(to_table({block}, {}).find('\033') == std::string::npos);
  CHECK(to_table({block}, {true, false}).find("\033[31merror: x\033[0m") != std::string::npos);
}

TEST_CASE("a terminal obeys nothing that stands in a reason") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  CHECK_THAT(to_table({block_of(cluster, workload, {failed("a", "\033[2J\rgone")})}, {}),
             Catch::EndsWith("error: ?[2J?gone\n"));
}

TEST_CASE("what lies outside measured ground is said below the table; wall times only when asked for") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock block = block_of(cluster, workload, {ran("a", 1_s, 600_TFLOPS, {})});
  block.results[0].step.extrapolated = {"fp8 on Fast"};
  block.results[0].planner_wall = 2_s;
  CHECK_THAT(to_table({block}, {}), Catch::Contains("\n  note on a: fp8 on Fast\n"));
  CHECK_THAT(to_table({block}, {}), !Catch::Contains("wall time"));
  CHECK_THAT(to_table({block}, {false, true}), Catch::Contains("\n  wall time of a: planned in 2 s, "));
}
