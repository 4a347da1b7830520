#include "sim/scenario/scenario.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/scenario/starter.hpp"
#include "sim/units/error.hpp"
#include "tests/scenario/base.hpp"

using namespace trainyard;

namespace {

std::string mistakes(const std::string& text) {
  try {
    (void)load(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a scenario without variants has one without a name, and defaults") {
  const Scenario scenario = load(kBase + "strategies: [plain_planner]\n");
  CHECK(scenario.name == "test");
  CHECK(scenario.objective == Objective::throughput);
  CHECK(scenario.steps == 1);
  CHECK(scenario.seed == 1);
  REQUIRE(scenario.variants.size() == 1);
  CHECK(scenario.variants[0].name.empty());
  CHECK(scenario.variants[0].cluster.gpus().size() == 20);
  CHECK(scenario.variants[0].workload.global_batch == 64);
}

TEST_CASE("what the file says is read") {
  const Scenario scenario =
      load(kBase + "strategies: [plain_planner]\nname: mine\nobjective: cost\nrun: {steps: 3, seed: 7}\n");
  CHECK(scenario.name == "mine");
  CHECK(scenario.objective == Objective::cost);
  CHECK(scenario.steps == 3);
  CHECK(scenario.seed == 7);
}

TEST_CASE("strategies stand in file order, with and without options") {
  const Scenario scenario =
      load(kBase + "strategies:\n  - {even_planner: {budget: 20}}\n  - plain_planner\n  - even_planner:\n");
  REQUIRE(scenario.strategies.size() == 3);
  CHECK(scenario.strategies[0].name == "even_planner");
  REQUIRE(scenario.strategies[0].options.find("budget") != nullptr);
  CHECK(scenario.strategies[0].options.find("budget")->scalar == "20");
  CHECK(scenario.strategies[1].options.kind == ConfigValue::Kind::null);
  CHECK(scenario.strategies[2].options.kind == ConfigValue::Kind::null);
}

TEST_CASE("mistakes of all sections are shown at once") {
  const std::string text = mistakes(
      "cluster: {nodes: [{name: a, gpu: A101, gpus_per_node: 8, nics: 1, nic: 100 Gbps}]}\n"
      "workload: {model: llama-9, sequence_length: 4096, global_batch: 64, precision: fp16, optimizer: adam, software: "
      "megatron-core-2024}\n"
      "strategies: [plain_plannr, {even_planner: {budget: 3}}]\n"
      "run: {horizon: 3}\n");
  for (const char* part : {"A101", "llama-9", "did you mean \"plain_planner\"?", "an even number is needed", "run.horizon: needs a unit"}) {
    INFO(part);
    CHECK_THAT(text, Catch::Contains(part));
  }
}

TEST_CASE("the schema of the whole file prints as JSON Schema") {
  const std::string text = to_json_schema(scenario_schema(), "Trainyard scenario");
  for (const char* key : {"\"cluster\"", "\"workload\"", "\"strategies\"", "\"variants\"", "\"objective\""})
    CHECK_THAT(text, Catch::Contains(key));
}

TEST_CASE("a file is found with its folder, a missing one is named") {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string file = (folder / "trainyard-scenario-test.yaml").string();
  std::ofstream(file) << kBase << "strategies: [plain_planner]\n";
  const Scenario scenario = load_scenario(file);
  std::filesystem::remove(file);
  CHECK(scenario.name == "trainyard-scenario-test");
  CHECK(scenario.directory == folder.string());
  CHECK_THROWS_WITH(load_scenario("/nowhere/x.yaml"), Catch::Contains("/nowhere/x.yaml"));
}

TEST_CASE("the starter scenario differs from a good one only in its strategies here") {
  // `fixed` is not linked into this test; everything else must load.
  const std::string text = mistakes(starter_scenario());
  CHECK_THAT(text, Catch::Contains("no strategy \"fixed\""));
  CHECK_THAT(text, !Catch::Contains("cluster") && !Catch::Contains("workload"));
}
