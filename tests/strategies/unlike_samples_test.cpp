// Strategies for samples of different length, several modules and embedding tables.
#include <catch2/catch.hpp>

#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

const char* const kNode = "{nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 1, nics: 8, nic: 200 Gbps}], fabric: {kind: star}}";

std::vector<CaseResult> run(const std::string& workload, const std::string& strategies) {
  const Scenario scenario = load_scenario_text(std::string("cluster: ") + kNode + "\nworkload: " + workload + "\nstrategies: [" + strategies + "]\n", "test.yaml", ".");
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(fixture::cases_of(scenario), {}, 2, nursery, nullptr);
}

}  // namespace

TEST_CASE("dhp gives long samples more devices than short ones") {
  // One sample of 64 k tokens and many short ones: the layout that the long one needs wastes exchanges on the short.
  const std::string workload =
      "{model: {family: llama, layers: 16, hidden: 2048, heads: 16, ffn: 5632, vocabulary: 32000}, sequence_length: 65536, global_batch: 32, precision: bf16, "
      "data: {lengths: [65536, 500, 900, 2000, 700, 1200, 400, 3000, 300, 2500, 600, 800, 1000, 1500, 450, 350], batching: varying}}";
  const std::vector<CaseResult> results = run(workload, "dhp, {fixed: {context: 8, micro_batch: 1, recompute: selective}}");
  INFO(results[0].reason << results[1].reason << results[0].plan_line);
  REQUIRE(results[0].status == CaseStatus::ok);
  REQUIRE(results[1].status == CaseStatus::ok);
  CHECK(results[0].step.memory.fits());
  CHECK(results[0].step.step_time < results[1].step.step_time);
  CHECK(results[0].step.tokens == results[1].step.tokens);
}

TEST_CASE("sparse_2d answers with copies of the tables, or one over all GPUs where asked") {
  const std::string workload =
      "{model: {dlrm: {dense: 16, bottom: [64, 32], top: [64, 1], interaction: cat, tables: [{count: 16, rows: 1000, dim: 32, pooling: 50}]}}, global_batch: 4096, "
      "precision: bf16}";
  const std::vector<CaseResult> results = run(workload, "sparse_2d, {sparse_2d: {replicas: 1}}, {sparse_2d: {replicas: 3}}, megatron");
  INFO(results[0].reason << results[1].reason);
  REQUIRE(results[0].status == CaseStatus::ok);
  REQUIRE(results[1].status == CaseStatus::ok);
  CHECK(results[0].step.step_time <= results[1].step.step_time);
  CHECK(results[0].step.samples == 4096);
  CHECK(results[2].reason == "3 copies of the tables do not divide 8 GPUs");
}

TEST_CASE("mimo lays out the encoder apart, on the same GPUs or on others") {
  const std::string workload =
      "{model: {family: llama, layers: 8, hidden: 2048, heads: 16, ffn: 5632, vocabulary: 32000, vision: {layers: 8, hidden: 1024, heads: 16, ffn: 4096, "
      "patch: 588, tokens: 576, positions: 577}}, sequence_length: 2048, global_batch: 64, precision: bf16, data: {images: 2}}";
  const std::vector<CaseResult> results = run(workload, "{mimo: {modules: colocated}}, {mimo: {modules: apart}}, mimo");
  for (const CaseResult& result : results) {
    INFO(result.reason);
    CHECK(result.status == CaseStatus::ok);
  }
  CHECK(results[2].step.step_time <= std::min(results[0].step.step_time, results[1].step.step_time));
}

TEST_CASE("what these strategies are not for, they say in one line") {
  const std::string workload = "{model: {family: llama, layers: 2, hidden: 1024, heads: 8, ffn: 2816, vocabulary: 32000}, sequence_length: 512, global_batch: 8, precision: bf16}";
  const std::vector<CaseResult> results = run(workload, "dhp, mimo, sparse_2d");
  CHECK(results[0].reason == "dhp plans for samples of different length: the workload has no `data.lengths`");
  CHECK(results[1].reason == "mimo plans for several modules: the model has no encoder of images");
  CHECK(results[2].reason == "sparse_2d plans for embedding tables: the model has none");
}
