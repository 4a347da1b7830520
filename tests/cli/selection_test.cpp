#include "sim/cli/selection.hpp"

#include <catch2/catch.hpp>

#include "sim/planning/registry.hpp"

using namespace trainyard;

namespace {

std::unique_ptr<Strategy> nothing(const StrategyOptions&, Diagnostics&) { return nullptr; }

std::unique_ptr<Strategy> needs_options(const StrategyOptions& options, Diagnostics& diagnostics) {
  if (!options.values) diagnostics.add({}, "needs a plan");
  return nullptr;
}

const StrategyRegistrar quick(StrategyInfo{"quick", "", "", schema::object({}, ""), {}, {}, nothing});
const StrategyRegistrar slow(StrategyInfo{"slow", "", "", schema::object({}, ""), {}, {}, nothing});
const StrategyRegistrar given(StrategyInfo{"given", "", "", schema::object({}, ""), {}, {}, needs_options});

Scenario two_entries() {
  Scenario scenario;
  scenario.file = "s.yaml";
  ConfigValue options;
  options.kind = ConfigValue::Kind::map;
  scenario.strategies = {{"given", options, {}}, {"quick", {}, {}}, {"given", options, {}}};
  return scenario;
}

std::vector<std::string> names(const std::vector<StrategyChoice>& choices) {
  std::vector<std::string> all;
  for (const StrategyChoice& choice : choices) all.push_back(choice.name);
  return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("nothing selected: what the scenario says") {
  CHECK(names(select_strategies(two_entries(), {})) == Names{"given", "quick", "given"});
}

TEST_CASE("names select entries with their options, or registered strategies with defaults") {
  const auto chosen = select_strategies(two_entries(), {"slow", "given"});
  CHECK(names(chosen) == Names{"slow", "given", "given"});
  CHECK(chosen[1].options.kind == ConfigValue::Kind::map);
}

TEST_CASE("all adds what needs no options") {
  CHECK(names(select_strategies(two_entries(), {"all"})) == Names{"given", "quick", "given", "slow"});
}

TEST_CASE("names that do not exist or need options are refused") {
  CHECK_THROWS_WITH(select_strategies(two_entries(), {"quik"}),
                    "--strategies: no strategy \"quik\"; did you mean \"quick\"?");
  Scenario scenario = two_entries();
  scenario.strategies.resize(0);
  CHECK_THROWS_WITH(select_strategies(scenario, {"given"}),
                    "--strategies: s.yaml has no entry for given, which needs options: needs a plan");
}
