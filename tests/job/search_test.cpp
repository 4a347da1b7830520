// The search behind megatron against what it could have chosen.
#include <catch2/catch.hpp>

#include "sim/planning/estimate.hpp"
#include "sim/planning/plan_text.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

CaseResult run_one(const std::string& strategy, const std::string& model = "llama-2-7b") {
  const Scenario scenario = fixture::scenario(strategy, model);
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(fixture::cases_of(scenario), {}, 1, nursery, nullptr).front();
}

}  // namespace

TEST_CASE("megatron is at least as fast as any layout of its search written by hand") {
  const Seconds best = run_one("megatron").step.step_time;
  const std::string by_hand = GENERATE("{fixed: {tensor: 8, data: 2}}", "{fixed: {tensor: 2, data: 8}}",
                                       "{fixed: {tensor: 2, pipeline: 2, data: 4}}", "{fixed: {tensor: 4, pipeline: 4}}");
  const CaseResult other = run_one(by_hand);
  if (other.status == CaseStatus::ok) CHECK(best <= other.step.step_time);
}

TEST_CASE("the estimate is near the simulation where nothing contends") {
  const Scenario scenario = fixture::scenario("{fixed: {tensor: 8, pipeline: 2, recompute: selective}}");
  const Cluster& cluster = scenario.variants[0].cluster;
  const Workload& workload = scenario.variants[0].workload;
  ShortPlan shape;
  shape.tensor = 8;
  shape.pipeline = 2;
  shape.settings.recompute = Recompute{RecomputeKind::selective, 1};
  const Expanded expanded = expand(shape, cluster, workload);
  REQUIRE(expanded.why_not.empty());
  const Router router(cluster);
  const StepEstimate estimate = estimate_step(expanded.plan, cluster, workload, router);
  const CaseResult simulated = run_one("{fixed: {tensor: 8, pipeline: 2, recompute: selective}}");
  CHECK(estimate.step_time / simulated.step.step_time == Approx(1).epsilon(0.03));
  CHECK(estimate.memory.peak / simulated.step.memory.peak == Approx(1).epsilon(0.02));
}

TEST_CASE("megatron_fastest_type on one type is megatron") {
  CHECK(run_one("megatron_fastest_type").step.step_time == run_one("megatron").step.step_time);
}
