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
  const Scenario after = fixture::scenario_of("{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 2, count: 1, nics: 1, nic: 100 Gbps}, "
                                              "{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 2, count: 1, nics: 1, nic: 100 Gbps}",
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

TEST_CASE("hethub keeps groups inside a kind and says how far its ideal is") {
  const CaseResult result = run_mixed("hethub");
  REQUIRE(result.status == CaseStatus::ok);
  CHECK(result.step.step_time < run_mixed("megatron").step.step_time);
  CHECK(result.plan_line.find("A100+V100") == std::string::npos);
  REQUIRE_FALSE(result.remarks.empty());
  CHECK(result.remarks[0].find("% of the theoretical upper bound") != std::string::npos);
}

TEST_CASE("hapt cuts finely across kinds, with tables that run ahead") {
  const CaseResult result = run_mixed("{hapt: {budget: 400, simulate: 3}}");
  REQUIRE(result.status == CaseStatus::ok);
  CHECK(result.plan_line.find("A100+V100") == std::string::npos);
  CHECK(result.step.step_time < run_mixed("megatron").step.step_time);
}

TEST_CASE("rethinking simulates no more than it may and says what it pruned") {
  const CaseResult result = run_mixed("{rethinking: {simulate: 5}}");
  REQUIRE(result.status == CaseStatus::ok);
  REQUIRE_FALSE(result.remarks.empty());
  CHECK(result.remarks[0].find(" simulated, ") != std::string::npos);
  CHECK(result.step.step_time < run_mixed("megatron").step.step_time);
}

namespace {

/// Two InfiniBand islands of two nodes each, RoCE in the second.
Scenario two_networks(const std::string& strategy) {
  return fixture::scenario_of(
      "{name: ib, gpu: A100-SXM4-40GB, gpus_per_node: 4, count: 2, nics: 1, nic: 200 Gbps, transport: infiniband}, "
      "{name: ro, gpu: A100-SXM4-40GB, gpus_per_node: 4, count: 2, nics: 1, nic: 100 Gbps, transport: roce}",
      "{kind: star}", strategy);
}

/// Four cities; a.0 is far from a.1 though their names are neighbours.
Scenario cities(const std::string& strategies) {
  std::string nodes;
  for (const char* city : {"tokyo", "ireland", "seoul", "london"})
    for (const char* half : {"x", "y"})
      nodes += std::string(nodes.empty() ? "" : ", ") + "{name: " + city + half + ", gpu: V100-SXM2-16GB, gpus_per_node: 1, count: 1, nics: 1, nic: 10 Gbps, region: " + city + "}";
  return fixture::scenario_of(nodes, "{kind: dt-fm-worldwide}", strategies, "gpt2-medium", "sequence_length: 1024, global_batch: 64, precision: fp16");
}

}  // namespace

TEST_CASE("holmes keeps data groups on one kind of card") {
  const CaseResult holmes = run_one(two_networks("holmes"));
  REQUIRE(holmes.status == CaseStatus::ok);
  // Devices of a stage are all of ib or all of ro.
  std::size_t at = 0;
  while ((at = holmes.plan_json.find("\"devices\"", at)) != std::string::npos) {
    const std::string devices = holmes.plan_json.substr(at, holmes.plan_json.find("\"layers\"", at) - at);
    CHECK((devices.find("ib.") == std::string::npos || devices.find("ro.") == std::string::npos));
    ++at;
  }
  CHECK(holmes.step.step_time <= run_one(two_networks("{fixed: {data: 16, micro_batch: 4}}")).step.step_time);
}

TEST_CASE("dt_fm finds the order of cities that equal work in the listed order misses") {
  const CaseResult placed = run_one(cities("{dt_fm: {pipeline: 4, trials: 200}}"));
  REQUIRE(placed.status == CaseStatus::ok);
  // The same layout in a random order: replicas of a stage in different cities.
  const CaseResult listed = run_one(cities("{fixed: {pipeline: 4, data: 2, micro_batch: 1, recompute: full, "
                                           "devices: [tokyox, irelandx, seoulx, londonx, tokyoy, irelandy, seouly, londony]}}"));
  REQUIRE(listed.status == CaseStatus::ok);
  CHECK(placed.step.step_time < listed.step.step_time);
  CHECK(run_one(cities("{dt_fm: {pipeline: 4, trials: 50}}")).plan_json == run_one(cities("{dt_fm: {pipeline: 4, trials: 50}}")).plan_json);
}

TEST_CASE("dt_fm places at most 256 GPUs") {
  const CaseResult result = run_one(fixture::scenario_of("{name: a, gpu: V100-SXM2-16GB, gpus_per_node: 8, count: 33, nics: 1, nic: 100 Gbps}", "{kind: star}", "dt_fm", "gpt2"));
  CHECK(result.status == CaseStatus::infeasible);
  CHECK(result.reason == "its genetic search places single GPUs, at most 256; the cluster has 264");
}

TEST_CASE("rethinking keeps the running Plan where a switch does not pay") {
  class FixedTime final : public Simulator {
   public:
    std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) override {
      StepReport report;
      report.step_time = 1_s;
      return std::vector<SimulationOutcome>(plans.size(), report);
    }
  };
  const Scenario scenario = mixed("rethinking");
  Diagnostics diagnostics;
  const auto strategy = StrategyRegistry::instance().find("rethinking")->make({}, diagnostics);
  FixedTime simulator;
  const PlanningContext now{scenario.variants[0].cluster, scenario.variants[0].workload, simulator, 1};
  Plan running = std::get<Planned>(strategy->plan(now)).plan;
  running.phases[0].parts[0].schedule = "gpipe";
  const Planned kept = std::get<Planned>(strategy->react({}, {now, running, 10, 100_s}).plan);
  CHECK(kept.plan == running);  // equally fast, so nothing pays for a switch
  const Planned fresh = std::get<Planned>(strategy->react({{id_at<NodeId>(0)}, {}}, {now, running, 10, 100_s}).plan);
  CHECK(fresh.plan != running);
}
