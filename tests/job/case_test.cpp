// Cases in processes of their own: results come back whole, and a death costs its own case.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "sim/planning/registry.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

class Dying final : public Strategy {
 public:
  PlanOrInfeasible plan(const PlanningContext&) override {
    std::fputs("out of ideas", stderr);
    std::abort();
  }
};

const StrategyRegistrar dying({.name = "dying",
                               .summary = "dies",
                               .paper = "none",
                               .options = schema::object({}, "none"),
                               .simplified = {},
                               .make = [](const StrategyOptions&, Diagnostics&) { return std::make_unique<Dying>(); }});

std::vector<CaseResult> run(const Scenario& scenario, const CaseOptions& options = {}, int jobs = 2) {
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(fixture::cases_of(scenario), options, jobs, nursery, nullptr);
}

}  // namespace

TEST_CASE("a strategy that dies costs its own case, with its last words") {
  const auto results = run(fixture::scenario("dying, {fixed: {tensor: 8, data: 2}}"));
  CHECK(results[0].status == CaseStatus::error);
  CHECK(results[0].strategy == "dying");
  CHECK(results[0].reason.find("out of ideas") != std::string::npos);
  CHECK(results[1].status == CaseStatus::ok);
}

TEST_CASE("results do not depend on the number of jobs") {
  const Scenario scenario = fixture::scenario("{fixed: {tensor: 8, data: 2}}, {fixed: {tensor: 4, pipeline: 2, data: 2}}, megatron");
  const auto one = run(scenario, {}, 1);
  const auto two = run(scenario, {.jobs = 2, .symmetry = true, .full_detail = false, .keep_trace = false}, 2);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].step.step_time == two[i].step.step_time);
    CHECK(one[i].plan_json == two[i].plan_json);
    CHECK(one[i].step.memory.peak == two[i].step.memory.peak);
  }
}

TEST_CASE("a model that is too large says which device lacks how much") {
  const auto results = run(fixture::scenario("{fixed: {tensor: 8, data: 2}}, megatron", "llama-3-405b"));
  for (const CaseResult& result : results) {
    CHECK(result.status == CaseStatus::infeasible);
    CHECK(result.reason.find("does not fit: a.") == 0);
    CHECK(result.reason.find("weights") != std::string::npos);
    CHECK(result.step.memory.missing() > Bytes(0));
  }
}

TEST_CASE("every device and every operator give the times of the reduced simulation") {
  const Scenario scenario = fixture::scenario("{fixed: {tensor: 4, pipeline: 2, data: 2, recompute: selective}}");
  const Seconds reduced = run(scenario)[0].step.step_time;
  const auto close = [&](const CaseOptions& options) { return std::abs(run(scenario, options)[0].step.step_time / reduced - 1) < 1e-9; };
  CHECK(close({.jobs = 1, .symmetry = false, .full_detail = false, .keep_trace = false}));
  CHECK(close({.jobs = 1, .symmetry = true, .full_detail = true, .keep_trace = false}));
}

TEST_CASE("a trace holds the graph and its times") {
  const auto results = run(fixture::scenario("{fixed: {tensor: 8, pipeline: 2}}"), {.jobs = 1, .symmetry = true, .full_detail = false, .keep_trace = true});
  REQUIRE(results[0].trace);
  CHECK(results[0].trace->graph.tasks.size() == results[0].trace->timeline.end.size());
}

TEST_CASE("the breakdown sums to the step time and tokens follow from it") {
  const StepReport step = run(fixture::scenario("{fixed: {tensor: 2, pipeline: 4, data: 2}}"))[0].step;
  CHECK(step.time.total().value == Approx(step.step_time.value).epsilon(1e-9));
  CHECK(step.tokens_per_s() == Approx(64 * 4096 / step.step_time.value));
  CHECK(in_dollars_per_hour(step.price) == Approx(60));
}
