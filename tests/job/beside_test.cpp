// Jobs that share a fabric, from the scenario's text to the result of its case.
#include <catch2/catch.hpp>

#include "tests/job/scenario_fixture.hpp"
#include "validation/scenario_cases.hpp"

using namespace trainyard;

namespace {

/// Two leaves of two nodes: the scenario's workload has a node under each, so has its neighbour.
Scenario scenario(const std::string& oversubscription, const std::string& neighbour, const std::string& more = "") {
  const std::string node = ", gpu: A100-SXM4-80GB, gpus_per_node: 8, nics: 8, nic: 200 Gbps, price: 30 USD/h}";
  return load_scenario_text("cluster: {nodes: [{name: a" + node + ", {name: b" + node + ", {name: c" + node + ", {name: d" + node +
                                "], fabric: {kind: fat_tree, leaf: 2, oversubscription: " + oversubscription + "}" + more + "}\n"
                                "workload: &llama {model: llama-2-7b, sequence_length: 4096, global_batch: 64, precision: bf16, optimizer: adam, software: megatron-core-2024}\n"
                                "strategies: [{fixed: {tensor: 8, data: 2}}]\n"
                                "jobs: [{name: neighbour, nodes: [b, d], " + neighbour + "}]\n",
                            "test.yaml", ".");
}

CaseResult result_of(const Scenario& scenario, const CaseOptions& options = {}) {
  const WorkerNursery nursery = WorkerNursery::start();
  return run_case(case_of(scenario, scenario.variants[0], scenario.strategies[0]), options, nursery);
}

const std::string kTwin = "workload: *llama, strategy: {fixed: {tensor: 8, data: 2}}";

}  // namespace

TEST_CASE("a twin beside slows both jobs alike, by what the up-link takes longer") {
  const CaseResult result = result_of(scenario("8", kTwin));
  REQUIRE(result.status == CaseStatus::ok);
  REQUIRE(result.jobs.size() == 1);
  CHECK(result.step.step_time > 1.1 * *result.alone_step_time);
  CHECK(result.jobs[0].step.step_time.value == Approx(result.step.step_time.value).epsilon(1e-9));
  CHECK(result.jobs[0].alone_step_time.value == Approx(result.alone_step_time->value).epsilon(1e-9));
  CHECK(result.jobs[0].plan_line == "TP8 · DP2 · micro-batch 1");
  CHECK(result.step.time.total().value == Approx(result.step.step_time.value).epsilon(1e-9));
  CHECK(in_dollars_per_hour(result.step.price) == Approx(60));  // of its own two nodes
}

TEST_CASE("on full bisection nobody notices the other") {
  const CaseResult result = result_of(scenario("1", kTwin));
  REQUIRE(result.status == CaseStatus::ok);
  CHECK(result.step.step_time.value == Approx(result.alone_step_time->value).epsilon(1e-9));
}

TEST_CASE("a neighbour with steps of another length is averaged over a window, and the result says so") {
  const CaseResult result = result_of(scenario("8", "workload: {model: gpt3-1.3b, sequence_length: 1024, global_batch: 32, precision: bf16, "
                                                    "optimizer: adam, software: megatron-core-2024}, strategy: {fixed: {tensor: 8, data: 2}}"));
  REQUIRE(result.status == CaseStatus::ok);
  CHECK(result.jobs[0].step.step_time < 0.5 * result.step.step_time);
  CHECK(result.jobs[0].step.step_time > result.jobs[0].alone_step_time);
  CHECK(result.step.step_time > *result.alone_step_time);
  CHECK(result.step.extrapolated.back().find("beside 1 other job: mean over ") == 0);
}

TEST_CASE("jobs device by device take as long as reduced") {
  const Scenario both = scenario("8", kTwin);
  const WorkerNursery nursery = WorkerNursery::start();
  const Case one = case_of(both, both.variants[0], both.strategies[0]);
  const CaseResult reduced = run_case(one, {}, nursery), full = run_case(one, {.jobs = 1, .symmetry = false}, nursery);
  CHECK(full.step.device_classes == 16);
  CHECK(full.step.step_time.value == Approx(reduced.step.step_time.value).epsilon(1e-9));
}

TEST_CASE("a neighbour that does not fit is the case's answer, by its name") {
  const CaseResult result = result_of(scenario("8", "workload: {model: llama-3-405b, sequence_length: 4096, global_batch: 64, precision: bf16, "
                                                    "optimizer: adam, software: megatron-core-2024}, strategy: {fixed: {tensor: 8, data: 2}}"));
  CHECK(result.status == CaseStatus::infeasible);
  CHECK(result.reason.find("job neighbour: does not fit: b.0.0") == 0);
}

TEST_CASE("the neighbour's device that fails ends the case, with who waits for it") {
  const CaseResult result = result_of(scenario("8", kTwin, ", failures: [{device: b.0.3, at: 2 s}]"));
  CHECK(result.status == CaseStatus::error);
  CHECK(result.reason.find("job neighbour: ") == 0);
  CHECK(result.reason.find("b.0.3 is gone since 2 s") != std::string::npos);
}

TEST_CASE("a trace of jobs shows all of them") {
  const CaseResult result = result_of(scenario("8", kTwin), {.keep_trace = true});
  REQUIRE(result.trace);
  bool own = false, other = false;
  for (const Processor& processor : result.trace->graph.processors) {
    own = own || processor.name.starts_with("a.");
    other = other || processor.name.starts_with("b.");
  }
  CHECK(own);
  CHECK(other);
}
