// What a scenario says about stragglers, jitter, changing links and failures, through to the result of its case.
#include <catch2/catch.hpp>

#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

Scenario scenario(const std::string& cluster, const std::string& run, const std::string& fabric = "") {
  return load_scenario_text("cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 2, nics: 8, nic: 200 Gbps, price: 30 USD/h}], "
                            "fabric: {kind: star" + fabric + "}" + cluster + "}\n"
                            "workload: {model: llama-2-7b, sequence_length: 4096, global_batch: 64, precision: bf16, optimizer: adam, software: megatron-core-2024}\n"
                            "run: {" + run + "}\nstrategies: [{fixed: {tensor: 8, data: 2}}]\n",
                            "test.yaml", ".");
}

CaseResult result_of(const Scenario& scenario, const CaseOptions& options = {}) {
  std::vector<Case> cases = fixture::cases_of(scenario);
  for (Case& one : cases) one.jitter = scenario.jitter;
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(cases, options, 1, nursery, nullptr).front();
}

}  // namespace

TEST_CASE("a straggler slows its replica, and the other waits") {
  const double plain = result_of(scenario("", "")).step.step_time.value;
  const double slow = result_of(scenario(", slowdown: {a.1.3: 1.5}", "")).step.step_time.value;
  CHECK(slow > 1.3 * plain);
  CHECK(slow < 1.5 * plain);  // exchanges are not slower
}

TEST_CASE("jitter comes from the seed, says so, and keeps the symmetry unless devices draw apart") {
  const CaseResult one = result_of(scenario("", "jitter: {kernels: 0.05, communication: 0.1}, seed: 3"));
  const CaseResult again = result_of(scenario("", "jitter: {kernels: 0.05, communication: 0.1}, seed: 3"));
  const CaseResult other = result_of(scenario("", "jitter: {kernels: 0.05, communication: 0.1}, seed: 4"));
  const CaseResult apart = result_of(scenario("", "jitter: {kernels: 0.05, draw: device}"));
  CHECK(one.step.step_time == again.step.step_time);
  CHECK(one.step.step_time != other.step.step_time);
  CHECK(one.step.device_classes < 16);
  CHECK(apart.step.device_classes == 16);
  CHECK(one.step.extrapolated.back() == "times drawn with a spread of 0.05 in kernels and 0.1 in communication, once for equal devices, seed 3");
}

TEST_CASE("a link that changes after some steps: the step after it is shown, those before are told") {
  const Seconds before = result_of(scenario("", "")).step.step_time;
  const CaseResult changed = result_of(scenario("", "", ", changes: [{between: [a.0.nic0, fabric.switch], at: 10 s, factor: 0.1}]"));
  const CaseResult always = result_of(scenario("", "", ", changes: [{between: [a.0.nic0, fabric.switch], factor: 0.1}]"));
  REQUIRE(changed.status == CaseStatus::ok);
  CHECK(changed.step.step_time > before);
  // Delays of collectives are worked out with the bandwidth at the start: a part of the ramp stays what it was.
  CHECK(changed.step.step_time.value == Approx(always.step.step_time.value).epsilon(0.01));
  CHECK(changed.step.extrapolated.back().find("the cluster changes until 10 s") == 0);
}

TEST_CASE("a link that dies: the case ends in an error that names the collective and the link") {
  const CaseResult result = result_of(scenario("", "", ", changes: [{between: [a.0.nic0, fabric.switch], at: 1 s, factor: 0}]"));
  CHECK(result.status == CaseStatus::error);
  CHECK_FALSE(result.user_error);
  CHECK(result.reason.find("link a.0.nic0>fabric.switch is dead since 1 s") != std::string::npos);
  CHECK(result.reason.find("reduce-scatter") != std::string::npos);
}

TEST_CASE("a GPU that fails: the case says which communication it is missing in") {
  const CaseResult result = result_of(scenario(", failures: [{device: a.1.0, at: 2 s}]", ""));
  CHECK(result.status == CaseStatus::error);
  CHECK(result.reason.find("a.1.0 is gone since 2 s") != std::string::npos);
  CHECK(result.reason.find("waits for it") != std::string::npos);
}

TEST_CASE("a change beyond the simulated steps is refused, not ignored") {
  const CaseResult result = result_of(scenario("", "", ", changes: [{between: [a.0.nic0, fabric.switch], at: 1 h, factor: 0.5}]"));
  CHECK(result.status == CaseStatus::error);
  CAPTURE(result.reason);
  CHECK(result.reason.find("the change at 60 min comes after the 16 steps that are simulated") == 0);
}
