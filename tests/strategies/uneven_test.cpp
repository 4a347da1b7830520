// hap, optpipe and dlplacer: their searches beside closed forms, and what they give.
#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/planning/pipeline_table.hpp"
#include "sim/planning/registry.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

/// One second each for F, B and W, messages in no time.
std::vector<TableStage> equal_stages(int count, int passes, double copy = 0.25) {
  return std::vector<TableStage>(std::size_t(count), TableStage{Seconds(1), Seconds(1), Seconds(1), Seconds(0), Seconds(copy), passes});
}

std::string text(const std::vector<Operation>& operations) {
  std::string all;
  for (const Operation& op : operations) all += op.kind + std::to_string(op.micro_batch);
  return all;
}

std::vector<CaseResult> run(const std::string& nodes, const std::string& model, const std::string& strategies, const std::string& more = "") {
  const Scenario scenario = load_scenario_text("cluster: {nodes: [" + nodes + "], fabric: {kind: star}}\nworkload: {model: " + model + ", sequence_length: 2048, " + more +
                                                   "precision: fp16, optimizer: adam, software: megatron-core-2024}\nstrategies: [" + strategies + "]\n",
                                               "test.yaml", ".");
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(fixture::cases_of(scenario), {}, 2, nursery, nullptr);
}

const std::string kSmall = "{family: llama, layers: 4, hidden: 1024, heads: 8, ffn: 2816, vocabulary: 32000}";
const std::string kUnlike = "{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 1, count: 1, nics: 1, nic: 200 Gbps}, "
                            "{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 1, count: 1, nics: 1, nic: 200 Gbps}";
const std::string kFour = "{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 4, count: 1}";

}  // namespace

TEST_CASE("split backward passes leave a pipeline of two only the way to its second stage") {
  // Stage 1: F0 1-2, B0 2-3, F1 3-4, B1 4-5, W 5-7. Stage 0: F 0-2, B0 3-4, W0 4-5, B1 5-6, W1 6-7. 1f1b takes 3 x 3.
  const auto tables = fill_tables(equal_stages(2, 4), 2, {});
  REQUIRE(tables);
  CHECK(tables->time == Seconds(7));
  CHECK(text(tables->stages[0].compute) == "F0F1B0W0B1W1");
  CHECK(text(tables->stages[1].compute) == "F0B0F1B1W0W1");
}

TEST_CASE("with room for one pass the next waits for the weight gradients of the last") {
  // Stage 0: F0 0-1, B0 3-4, W0 4-5, F1 5-6, B1 8-9, W1 9-10.
  const auto tables = fill_tables(equal_stages(2, 1), 2, {});
  REQUIRE(tables);
  CHECK(tables->time == Seconds(10));
  CHECK_FALSE(fill_tables(equal_stages(2, 0), 2, {}));
}

TEST_CASE("passes leave where that lets more of them begin, and all come back") {
  const auto stay = fill_tables(equal_stages(4, 2), 8, {2, false, 0}), leave = fill_tables(equal_stages(4, 2), 8, {2, true, 0});
  REQUIRE((stay && leave));
  CHECK(leave->time < stay->time);
  CHECK(stay->stages[0].offloads.empty());
  REQUIRE_FALSE(leave->stages[0].offloads.empty());
  for (const StageLanes& lanes : leave->stages) CHECK(lanes.offloads.size() == lanes.reloads.size());
  // Copies that take longer than what they could hide behind are not begun.
  CHECK(fill_tables(equal_stages(4, 2, 100), 8, {2, true, 0})->stages[0].offloads.empty());
}

TEST_CASE("optpipe waits less than 1f1b on the same pipeline, as its tables say") {
  const auto results = run(kFour, kSmall, "{fixed: {pipeline: 4}}, {optpipe: {plan: {pipeline: 4}}}", "global_batch: 8, ");
  REQUIRE((results[0].status == CaseStatus::ok && results[1].status == CaseStatus::ok));
  CHECK(results[1].step.time.bubble < results[0].step.time.bubble);
  CHECK(results[1].step.step_time < results[0].step.step_time);
  REQUIRE(results[1].planner_estimate);
  CHECK(results[1].step.step_time.value == Approx(results[1].planner_estimate->value).epsilon(0.15));
  CHECK(results[1].remarks[0].find("idle ") == 0);
}

TEST_CASE("optpipe holds no more than the Plan's own schedule where it is told so") {
  const auto results = run(kFour, kSmall, "{fixed: {pipeline: 4}}, {optpipe: {plan: {pipeline: 4}}}, {optpipe: {plan: {pipeline: 4}, same_memory: true}}", "global_batch: 12, ");
  for (const CaseResult& result : results) REQUIRE(result.status == CaseStatus::ok);
  CHECK(results[2].step.memory.peak <= results[0].step.memory.peak);
  CHECK(results[1].step.memory.peak > results[0].step.memory.peak);
  CHECK(results[1].step.step_time <= results[2].step.step_time);
  CHECK(results[2].step.step_time <= results[0].step.step_time);
}

TEST_CASE("optpipe says what it cannot modify") {
  const auto results = run(kFour, kSmall, "{optpipe: {plan: {tensor: 4}}}, {optpipe: {plan: {pipeline: 2, data: 2, chunks: 2, schedule: interleaved}}}", "global_batch: 8, ");
  CHECK(results[0].reason == "optpipe: tables are made for pipelines of at least 2 stages");
  CHECK(results[1].reason == "optpipe: tables are made for stages of one chunk");
}

TEST_CASE("hap gives unlike GPUs samples in proportion to their speed") {
  const auto results = run(kUnlike, kSmall, "hap, {fixed: {data: 2}}", "global_batch: 32, ");
  INFO(results[0].reason << results[0].plan_json);
  REQUIRE((results[0].status == CaseStatus::ok && results[1].status == CaseStatus::ok));
  CHECK(results[0].step.step_time < results[1].step.step_time);
  CHECK(results[0].step.time.bubble < results[1].step.time.bubble);
}

TEST_CASE("hap needs a sample for every GPU") {
  CHECK(run(kFour, kSmall, "hap", "global_batch: 2, ")[0].reason == "a batch of fewer samples than GPUs cannot be shared by all of them");
}

TEST_CASE("dlplacer takes larger workers where a larger batch costs epochs") {
  // At the target's critical batch of 1 to 4 workers of 8 samples, each more needs as many more samples: one worker of four GPUs, unless
  // the critical batch is so large that all workers are as good for accuracy.
  const auto at = [&](const std::string& critical) {
    return run(kFour, kSmall, "{dlplacer: {worker_batch: 8}}", "global_batch: 32, convergence: {steps: 1000, critical_batch: " + critical + "}, ")[0];
  };
  const CaseResult dear = at("1"), cheap = at("1000000");
  REQUIRE((dear.status == CaseStatus::ok && cheap.status == CaseStatus::ok));
  CHECK(dear.remarks[0].find("4 workers of 1 GPU: batch 32, 1031 steps") == 0);
  CHECK(cheap.remarks.back().find("to the target") == 0);
  CHECK(dear.plan_line != cheap.plan_line);
}
