// What is said about rows: the front, the reasons of gaps, the lines below a Plan; names that want to break things;
// narrow terminals.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sim/report/gap.hpp"
#include "sim/report/numbers.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/result_text.hpp"
#include "sim/report/step_notes.hpp"
#include "sim/report/table.hpp"
#include "sim/report/wrapping.hpp"
#include "tests/report/made_up.hpp"

using namespace trainyard;

namespace {

constexpr FlopsPerSecond kAll = 600_TFLOPS;

/// A step of 10 s, or less, on 8 GPUs.
CaseResult spends(Seconds forward, Seconds bubble, Seconds recompute = {}) {
  CaseResult result = ran("a", forward + bubble + recompute, kAll, 3.6_usd_per_h);
  result.step.time = {};
  result.step.time.forward = forward;
  result.step.time.bubble = bubble;
  result.step.time.recompute = recompute;
  result.traits = {.stages = 4,
                   .least_layers = 10,
                   .most_layers = 10,
                   .least_tensor = 2,
                   .most_tensor = 2,
                   .replicas = 1,
                   .micro_batches = 8,
                   .micro_batch = 1,
                   .zero = 0,
                   .kinds = 2,
                   .schedule = "1f1b",
                   .recompute = "none"};
  return result;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    longest = std::max(longest, width_of(std::string_view(text).substr(from, end - from)));
    from = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("the front holds what nothing else beats in speed and price") {
  // steps of 1, 2, 4, 2 s at 8, 2, 0.5, 4 USD/h: price a step 8, 4, 2, 8: the last one is as dear as the first and
  // slower
  TableBlock block;
  for (const auto& [step, price] : {std::pair(1.0, 8.0), {2.0, 2.0}, {4.0, 0.5}, {2.0, 4.0}})
    block.results.push_back(ran("a", Seconds(step), kAll, dollars_per_hour(price)));
  block.results.push_back(did_not_fit("b"));
  mark_pareto_front(block);
  CHECK(block.results[0].pareto_front == true);
  CHECK(block.results[1].pareto_front == true);
  CHECK(block.results[2].pareto_front == true);
  CHECK(block.results[3].pareto_front == false);
  CHECK_FALSE(block.results[4].pareto_front.has_value());
  SECTION("equals share it") {
    block.results[3] = block.results[1];
    mark_pareto_front(block);
    CHECK(block.results[1].pareto_front == true);
    CHECK(block.results[3].pareto_front == true);
  }
}

TEST_CASE("of one known price there is no front") {
  TableBlock block;
  block.results = {ran("a", 1_s, kAll, 1_usd_per_h), ran("b", 1_s, kAll, 1_usd_per_h)};
  block.results[1].step.price_known = false;
  mark_pareto_front(block);
  CHECK_FALSE(block.results[0].pareto_front.has_value());
}

TEST_CASE("a gap is put down to what takes a smaller share, and to what goes with it in the Plan") {
  // slower: 7.9 s of computing, 2.1 s of bubble; faster: 7.36 and 0.64 of 8: 21 % -> 8 %
  const CaseResult slower = spends(Seconds(7.9), Seconds(2.1));
  CaseResult faster = spends(Seconds(7.36), Seconds(0.64));
  faster.traits.most_layers = 12;
  CHECK(gap_reasons(faster, slower) ==
        std::vector<std::string>{"pipeline bubble 21.0 % → 8.0 %: stages follow GPU speed",
                                 "computing 7.9 s → 7.36 s a step: faster GPUs hold more layers"});
  SECTION("with equal stages it is the number of micro-batches") {
    faster.traits.most_layers = 10;
    faster.traits.micro_batches = 16;
    CHECK(gap_reasons(faster, slower).front() == "pipeline bubble 21.0 % → 8.0 %: 16 micro-batches instead of 8");
  }
  SECTION("or that of stages") {
    faster.traits.most_layers = 10;
    faster.traits.stages = 2;
    CHECK(gap_reasons(faster, slower).front() == "pipeline bubble 21.0 % → 8.0 %: 2 stages instead of 4");
  }
  SECTION("or nothing that can be said") {
    faster.traits = slower.traits;
    CHECK(gap_reasons(faster, slower).front() == "pipeline bubble 21.0 % → 8.0 %");
  }
  SECTION("the other way round only what got better counts") { CHECK(gap_reasons(slower, faster).empty()); }
}

TEST_CASE("recomputation that is gone is a reason, the largest first") {
  const CaseResult slower = spends(6_s, 1_s, 3_s), faster = spends(6_s, Seconds(0.2));
  const std::vector<std::string> reasons = gap_reasons(faster, slower);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0] == "recomputation 30.0 % → 0.0 %");
  CHECK(reasons[1] == "pipeline bubble 10.0 % → 3.2 %");
}

TEST_CASE("where the time goes, and the critical path by stage and kind of GPU") {
  CaseResult result = spends(Seconds(7.5), Seconds(2.496), Seconds(0.004));
  CHECK(time_text(result) == "forward 75.0 % · bubble 25.0 %");
  result.critical_path = {{"forward", 0, 1, "a.0.0", "V100-SXM2-16GB", Seconds(5)},
                          {"forward", 1, 1, "a.1.0", "V100-SXM2-16GB", Seconds(4)},
                          {"wait", -1, -1, "", "", Seconds(0.95)},
                          {"data", -1, -1, "a.0.0", "V100-SXM2-16GB", Seconds(0.05)}};
  CHECK(critical_path_text(result) == "forward of stage 1 on V100 90.0 % · wait 9.5 % · other 0.5 %");
  result.traits.stages = 1;
  CHECK_THAT(critical_path_text(result), Catch::StartsWith("forward on V100 90.0 %"));
  const auto json = nlohmann::json::parse(to_json({result}, {"1", "h", false}))["results"][0];
  CHECK(json["critical_path"][0]["share"].get<double>() == Approx(0.5));
  CHECK(json["critical_path"][2]["stage"].is_null());
  CHECK(json["error_band"].is_null());
  CHECK(json["plan_line"] == "PP2 · micro-batch 1");
}

TEST_CASE("what limits, what more of it buys, what buys nothing") {
  CaseResult result = spends(1_s, 1_s);
  CHECK(sensitivity_text(result).empty());
  result.sensitivity = {{"links efa", 1.1, 2_s, 0, 0, ""},
                        {"FLOP/s of V100", 1.1, 2_s, 0.046, -0.044, ""},
                        {"price of v100", 1.1, 2_s, 0, 0.053, ""},
                        {"size of memory, planned again", 1.1, {}, 0, 0, "too small"}};
  CHECK(sensitivity_text(result) ==
        "    limited by FLOP/s of V100; 10 % more of\n"
        "      FLOP/s of V100: +4.6 % speed, -4.4 % price a token\n"
        "      price of v100: +0.0 % speed, +5.3 % price a token\n"
        "      size of memory, planned again: too small\n"
        "      nothing from links efa\n");
}

TEST_CASE("the error band stands beside the speed, rejected candidates below when asked for") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock block{
      "small", "", "throughput", &cluster, &workload, Ranking::throughput, {ran("a", 2_s, kAll, 1_usd_per_h)}};
  block.results[0].error_band = 0.06;
  block.results[0].rejected = {{"TP8", "does not fit: f.0.0 lacks 1 GB"}};
  const std::string text = to_table({block}, {.why = true});
  CHECK_THAT(text, Catch::Contains("5,120 ±6 %"));
  CHECK_THAT(text, Catch::Contains("  a rejected\n    TP8: does not fit: f.0.0 lacks 1 GB\n"));
  CHECK_THAT(to_table({block}, {}), !Catch::Contains("rejected"));
}

TEST_CASE("lines are broken at blanks, what goes on stands further in") {
  CHECK(wrapped("  one two three four\nfive", 12) == "  one two\n      three\n      four\nfive");
  CHECK(wrapped("longerthanthis x", 8) == "longerthanthis\n    x");
  CHECK(wrapped("\033[1mbold\033[0m it", 7) == "\033[1mbold\033[0m it");
  CHECK(wrapped("  one two three four\n", 0) == "  one two three four\n");
}

TEST_CASE("a narrow terminal gets fewer columns and no line beyond its edge") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock block{
      "small", "", "throughput", &cluster, &workload, Ranking::throughput, {spends(7_s, 3_s), spends(7_s, 1_s)}};
  const int width = GENERATE(50, 80, 100, 200);
  const std::string text = to_table({block}, {.width = std::size_t(width)});
  INFO(text);
  CHECK(longest_line(text) <= std::size_t(width));
  CHECK_THAT(text, Catch::Contains("tokens/s") && Catch::Contains("USD/M tokens"));
  CHECK((text.find("exposed") != std::string::npos) == (width == 200));
}

TEST_CASE("names that want to break a format do not") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  const std::string name = "<script>alert(\"x\")</script>\n'quoted', \"twice\"\r\n\033[2J" + std::string(10'000, 'n');
  TableBlock block{name,
                   name,
                   "throughput",
                   &cluster,
                   &workload,
                   Ranking::throughput,
                   {ran(name, 2_s, kAll, 1_usd_per_h), ran("b", 1_s, kAll, 1_usd_per_h)}};
  block.results[0].scenario = block.results[0].variant = name;
  const std::string table = to_table({block}, {});
  CHECK(table.find('\033') == std::string::npos);
  CHECK(longest_line(table) < 300);
  const auto json = nlohmann::json::parse(to_json(block.results, {"1", "h", false}));
  CHECK(json["results"][0]["strategy"] == name);
  // In CSV: quotes are closed, and each row ends outside of them.
  const std::string csv = to_csv(block.results, {"1", "h", false});
  int rows = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (csv[i] == '"') quoted = !quoted;
    if (csv[i] == '\n' && !quoted) ++rows;
  }
  CHECK_FALSE(quoted);
  CHECK(rows == 3);
}
