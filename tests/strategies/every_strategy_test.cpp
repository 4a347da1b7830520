// Every registered strategy on small clusters: its Plan passes every rule and fits in simulated memory, or it says in one line why
// there is none; and the same input gives the same Plan.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "sim/planning/registry.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

const char* const kModel = "{model: {family: llama, layers: 8, hidden: 2048, heads: 16, ffn: 5632, vocabulary: 32000}, sequence_length: 2048, "
                           "global_batch: 8, precision: fp16, optimizer: adam, software: megatron-core-2024}";
const char* const kHomogeneous = "{nodes: [{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 2, count: 2, nics: 1, nic: 200 Gbps}], fabric: {kind: star}}";
const char* const kMixed =
    "{nodes: [{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 2, count: 1, nics: 1, nic: 100 Gbps}, "
    "{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 2, count: 1, nics: 1, nic: 100 Gbps}], fabric: {kind: star}}";
const char* const kPair =
    "{nodes: [{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 1, count: 1, nics: 1, nic: 100 Gbps}, "
    "{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 1, count: 1, nics: 1, nic: 100 Gbps}], fabric: {kind: star}}";
/// Half a billion parameters on GPUs of 16 GB over a slow network.
const char* const kNarrow = "{nodes: [{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 1, count: 4, nics: 1, nic: 10 Gbps}], fabric: {kind: star}}";

/// Strategies that need no options, one entry each.
std::string all_strategies() {
  std::string list;
  for (const std::string& name : StrategyRegistry::instance().names())
    if (name != "fixed" && name != "external") list += (list.empty() ? "" : ", ") + name;
  return list;
}

Scenario on(const std::string& cluster, const std::string& strategies) {
  return load_scenario_text("cluster: " + cluster + "\nworkload: " + kModel + "\nstrategies: [" + strategies + "]\n", "test.yaml", ".");
}

std::vector<CaseResult> run(const Scenario& scenario) {
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(fixture::cases_of(scenario), {}, 2, nursery, nullptr);
}

}  // namespace

TEST_CASE("every strategy gives a Plan that fits, or one line that says why not") {
  const std::string cluster = GENERATE(as<std::string>{}, kHomogeneous, kMixed, kNarrow);
  for (const CaseResult& result : run(on(cluster, all_strategies()))) {
    INFO(result.strategy << ": " << result.plan_line << " " << result.reason);
    CHECK(result.status != CaseStatus::error);
    if (result.status == CaseStatus::ok) {
      CHECK(result.step.memory.fits());
      CHECK_FALSE(result.plan_json.empty());
    } else {
      CHECK_FALSE(result.reason.empty());
      CHECK(result.reason.find('\n') == std::string::npos);
      CHECK(result.plan_json.empty());  // it was the strategy that said so, not the simulation of its answer
    }
  }
}

TEST_CASE("no strategy is faster than exhaustive where it looks at everything that the strategy can say") {
  const std::vector<CaseResult> results = run(on(kMixed, "exhaustive, megatron, megatron_fastest_type, dapple, pipedream"));
  for (const CaseResult& result : results)
    if (result.status == CaseStatus::ok) {
      INFO(result.strategy << ": " << result.plan_line << " against " << results[0].plan_line);
      CHECK(result.step.step_time >= results[0].step.step_time * 0.999);
    }
}

TEST_CASE("the same input gives the same Plan of every strategy") {
  const Scenario scenario = on(kPair, all_strategies());
  const std::vector<CaseResult> first = run(scenario), second = run(scenario);
  for (std::size_t i = 0; i < first.size(); ++i) {
    INFO(first[i].strategy);
    CHECK(first[i].plan_json == second[i].plan_json);
    CHECK(first[i].planner_estimate == second[i].planner_estimate);
  }
}

TEST_CASE("with next to no budget every planner answers with the best it saw or in one line, says so, and does so again") {
  std::string list;
  for (const std::string& name : StrategyRegistry::instance().names()) {
    const auto& fields = StrategyRegistry::instance().find(name)->options.fields;
    if (std::ranges::find(fields, "budget", &SchemaField::name) == fields.end()) continue;
    for (const int budget : {1, 1, 40}) list += fmt::format("{}{{{}: {{budget: {}}}}}", list.empty() ? "" : ", ", name, budget);
  }
  const std::vector<CaseResult> results = run(on(kPair, list));
  for (std::size_t i = 0; i < results.size(); ++i) {
    INFO(results[i].strategy << ": " << results[i].plan_line << " " << results[i].reason);
    CHECK(results[i].status != CaseStatus::error);
    if (results[i].status == CaseStatus::ok)
      CHECK((results[i].planner_truncated || i % 3 == 2));
    else
      CHECK((results[i].reason.find("budget") != std::string::npos && results[i].reason.find('\n') == std::string::npos));
    if (i % 3 == 1) CHECK(results[i].plan_json == results[i - 1].plan_json);
  }
}

TEST_CASE("a planner whose budget ends at once still answers with what it has seen") {
  const std::string strategy = GENERATE("dapple", "pipedream", "exhaustive");
  const CaseResult result = run(on(kHomogeneous, "{" + strategy + ": {budget: 2000}}")).front();
  INFO(result.reason);
  CHECK(result.status == CaseStatus::ok);
}

TEST_CASE("domino slices another strategy's Plan, and keeps it whole where that is faster") {
  const char* const base = "{fixed: {tensor: 2, data: 2, micro_batch: 4}}";
  const std::vector<CaseResult> results = run(on(kHomogeneous, std::string(base) + ", {domino: {of: " + base + "}}, {domino: {of: {fixed: {data: 4}}}}"));
  CHECK(results[1].plan_line.find("slices") != std::string::npos);
  CHECK(results[1].step.step_time < results[0].step.step_time);
  CHECK(results[2].reason == "the Plan of fixed has no tensor axis whose collectives slices could hide");
}

TEST_CASE("a square and a line of GPUs beside a cube") {
  const std::vector<CaseResult> results = run(on(kHomogeneous, "tensor_3d, {tensor_3d: {dimensions: 2}}, {tensor_3d: {dimensions: 1}}"));
  CHECK(results[0].reason == "no grid of 3 equal sides divides the GPUs");
  CHECK(results[1].plan_line.find("rows2 · columns2") != std::string::npos);
  CHECK(results[2].status == CaseStatus::ok);
}

TEST_CASE("exhaustive says for whom it is") {
  const CaseResult result = run(on("{nodes: [{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 8, count: 1, nics: 1, nic: 200 Gbps}], fabric: {kind: star}}", "exhaustive")).front();
  CHECK(result.reason == "exhaustive is for up to 6 GPUs and 8 layers; there are 8 and 8");
}
