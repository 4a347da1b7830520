#include "sim/planning/registry.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;

namespace {
class Nothing final : public Strategy {
 public:
  PlanOrInfeasible plan(const PlanningContext&) override {
    ++planned;
    return Infeasible{"nothing fits", {}, {}};
  }
  int planned = 0;
};

class NoSimulator final : public Simulator {
 public:
  std::vector<SimulationOutcome> simulate(std::span<const Plan>) override { return {}; }
};

StrategyInfo info(const std::string& name) {
  StrategyInfo result;
  result.name = name;
  result.make = [](const StrategyOptions&, Diagnostics&) { return std::make_unique<Nothing>(); };
  return result;
}
}  // namespace

TEST_CASE("the registry remembers bad names and never throws") {
  StrategyRegistry registry;
  registry.add(info("zebra"));
  registry.add(info("ant_2"));
  registry.add(info("zebra"));
  registry.add(info("Bad-Name"));
  registry.add(info(""));
  StrategyInfo without_make;
  without_make.name = "idle";
  registry.add(without_make);
  CHECK(registry.names() == std::vector<std::string>{"ant_2", "zebra"});
  CHECK(registry.problems() ==
        std::vector<std::string>{"strategy \"zebra\" is registered twice",
                                 "strategy \"Bad-Name\": a name is lower-case letters, digits and underscores",
                                 "strategy \"\": a name is lower-case letters, digits and underscores",
                                 "strategy \"idle\" has no way to make one"});
  REQUIRE(registry.find("ant_2"));
  CHECK(registry.find("ant") == nullptr);
}

TEST_CASE("a strategy reacts by planning again") {
  Nothing strategy;
  NoSimulator simulator;
  const Cluster cluster;
  const Workload workload;
  const Plan running;
  const PlanningContext now{cluster, workload, simulator, 1};
  const Reaction reaction = strategy.react({}, {now, running, 3, 1_s});
  CHECK(strategy.planned == 1);
  CHECK(std::get<Infeasible>(reaction.plan).why == "nothing fits");
}
