// Jobs over a horizon in tables, rankings, traces and over seeds.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "sim/report/job_table.hpp"
#include "sim/report/job_trace.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/seed_spread.hpp"
#include "sim/report/trace.hpp"
#include "tests/report/made_up.hpp"

using namespace trainyard;
using Json = nlohmann::json;

namespace {

/// 1,000 s: 600 useful, 100 lost, 50 saving, 150 changing, 100 without nodes.
CaseResult job(const std::string& strategy, double tokens, double dollars) {
  CaseResult result = ran(strategy, 1_s, 600_TFLOPS, dollars_per_hour(1));
  result.recovery = "none";
  JobReport report;
  report.length = Seconds(1000);
  report.times = {Seconds(600), Seconds(100), Seconds(50), Seconds(150), Seconds(0), Seconds(100)};
  report.tokens = tokens;
  report.samples = tokens / 1024;
  report.money.nodes = Dollars(dollars);
  report.preemptions = 7;
  report.plans = 2;
  JobEntry begin, end;
  begin.phase = JobPhase::training;
  begin.nodes = begin.used = 3;
  begin.tokens_per_s = 5;
  begin.plan = "PP3";
  end.at = Seconds(900);
  end.tokens = tokens;
  end.usd = Dollars(dollars);
  report.timeline = {begin, end};
  result.job = report;
  return result;
}

}  // namespace

TEST_CASE("where a job's time went stands in its row") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock block;
  block.cluster = &cluster;
  block.workload = &workload;
  block.results = {job("a", 2e6, 3)};
  const std::string text = job_rows_text(block, {0}, {});
  for (const char* part : {"2,000", "60.0 %", "10.0 %", "5.0 %", "15.0 %", "3.00", "1.50"}) CHECK_THAT(text, Catch::Contains(part));
}

TEST_CASE("several seeds give a mean and Student's interval") {
  // Tokens 1e6 and 3e6: mean 2e6, deviation sqrt(2) 1e6, half width 12.706 x 1e6.
  const CaseResult first = job("a", 1e6, 1), second = job("a", 3e6, 1);
  const CaseResult joined = over_seeds({first, second});
  REQUIRE(joined.seeds);
  CHECK(joined.seeds->seeds == 2);
  CHECK(joined.seeds->tokens.mean == Approx(2e6));
  CHECK(joined.seeds->tokens.half_width == Approx(12.706e6).epsilon(1e-3));
}

TEST_CASE("under a deadline the cheapest in time comes first, then the nearest to it") {
  const Cluster cluster = small_cluster();
  const Workload workload = small_workload();
  TableBlock block;
  block.cluster = &cluster;
  block.workload = &workload;
  block.ranking = Ranking::cost_under_deadline;
  block.deadline = Seconds(1000);
  const auto done = [](const std::string& name, double seconds, double dollars) {
    CaseResult result = job(name, 2e6, dollars);
    result.job->time_to_target = Seconds(seconds);
    result.job->usd_to_target = Dollars(dollars);
    return result;
  };
  block.results = {done("latest", 3000, 1), done("dear", 900, 9), done("late", 1001, 2), done("cheap", 1000, 5)};
  CHECK(ranked(block) == std::vector<std::size_t>{3, 1, 2, 0});
}

TEST_CASE("a job's trace: what it was busy with, its nodes, who fetched what from whom, counters") {
  CaseResult result = job("a", 2e6, 3);
  result.job_trace = JobTrace{{{Seconds(0), Seconds(800), JobActivity::steps, 80}, {Seconds(800), Seconds(900), JobActivity::lost, 10}},
                              {{Seconds(10), Seconds(12), "f.0.0", "f.1.0", 1, 3, 5, 7_GB}, {Seconds(10), Seconds(15), "store", "f.1.0", 1, 6, 6, 1_GB}},
                              {{1, "f.1", Seconds(0), Seconds(20), Seconds(700), Seconds(900), true, false}}};
  const Json document = Json::parse(to_trace({result}));
  std::vector<std::string> slices, counters;
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == "X") slices.push_back(event["name"]);
    if (event["ph"] == "C") counters.push_back(event["name"]);
  }
  CHECK(slices == std::vector<std::string>{"steps", "lost work", "PP3", "boots", "is there", "will be lost", "layer 6 from store", "layers 3 to 5 from f.0.0"});
  CHECK(std::count(counters.begin(), counters.end(), "spent") == 3);  // at both entries and at the end
  CHECK(std::count(counters.begin(), counters.end(), "nodes") == 2);
  result.job_trace.reset();
  CHECK(job_trace_events({result}, 1).empty());
}
