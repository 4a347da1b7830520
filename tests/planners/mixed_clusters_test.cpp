// Planners on small mixed clusters: what each is for shows in its Plan, and the Plan is faster than equal work for all.
#include <catch2/catch.hpp>

#include "sim/planning/registry.hpp"
#include "sim/planning/strategy.hpp"
#include "tests/planners/mixed_fixture.hpp"

using namespace trainyard;
using fixture::mixed;
using fixture::run_one;

namespace {

CaseResult run_mixed(const std::string& strategy) { return run_one(mixed(strategy)); }

}  // namespace

TEST_CASE("autohet beats equal work on unequal GPUs") {
  const CaseResult autohet = run_mixed("{autohet: {budget: 300}}"), megatron = run_mixed("megatron");
  REQUIRE(autohet.status == CaseStatus::ok);
  REQUIRE(megatron.status == CaseStatus::ok);
  CHECK(autohet.step.step_time < megatron.step.step_time);
  CHECK(autohet.planner_estimate);
}

TEST_CASE("autohet keeps to its budget and to its seed") {
  const CaseResult small = run_mixed("{autohet: {budget: 3, simulate: 1}}");
  CHECK(small.status == CaseStatus::ok);
  CHECK(run_mixed("{autohet: {budget: 200}}").plan_json == run_mixed("{autohet: {budget: 200}}").plan_json);
}

TEST_CASE("autohet plans again on what is left") {
  class NoSimulator final : public Simulator {
   public:
    std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override {
      return std::vector<SimulationOutcome>(plans.size(), StepReport{});
    }
  };
  const Scenario before = mixed("autohet");
  const Scenario after = fixture::scenario_of("{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 4, count: 1, nics: 1, nic: 100 Gbps}, "
                                              "{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 4, count: 1, nics: 1, nic: 100 Gbps}",
                                              "{kind: star}", "autohet");
  Diagnostics diagnostics;
  const auto strategy = StrategyRegistry::instance().find("autohet")->make({}, diagnostics);
  NoSimulator simulator;
  const PlanningContext first{before.variants[0].cluster, before.variants[0].workload, simulator, 1};
  const Planned running = std::get<Planned>(strategy->plan(first));
  const PlanningContext now{after.variants[0].cluster, after.variants[0].workload, simulator, 1};
  const Reaction reaction = strategy->react({{id_at<NodeId>(2)}, {}}, {now, running.plan, 10, 100_s});
  const auto* planned = std::get_if<Planned>(&reaction.plan);
  REQUIRE(planned);
  CHECK(planned->plan.check(now.cluster, now.workload).empty());
  CHECK(planned->plan != running.plan);
}
