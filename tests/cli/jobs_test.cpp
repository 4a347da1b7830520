// `jobs:` end to end, and the same bytes whatever --jobs says.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

using namespace trainyard;

namespace {

const std::string kTwoJobs = R"(cluster:
  nodes:
    - {name: a, gpu: A100-SXM4-80GB, gpus_per_node: 4, nics: 4, nic: 200 Gbps, price: 15 USD/h}
    - {name: b, gpu: A100-SXM4-80GB, gpus_per_node: 4, nics: 4, nic: 200 Gbps, price: 15 USD/h}
    - {name: c, gpu: A100-SXM4-80GB, gpus_per_node: 4, nics: 4, nic: 200 Gbps, price: 15 USD/h}
    - {name: d, gpu: A100-SXM4-80GB, gpus_per_node: 4, nics: 4, nic: 200 Gbps, price: 15 USD/h}
    - {name: e, gpu: A100-SXM4-80GB, gpus_per_node: 4, nics: 4, nic: 200 Gbps, price: 15 USD/h}
  fabric: {kind: fat_tree, leaf: 2, oversubscription: 8}
workload: &xl {model: gpt3-1.3b, sequence_length: 1024, global_batch: 64, precision: bf16, optimizer: adam, software: megatron-core-2024}
strategies: [{fixed: {data: 8}}, {fixed: {tensor: 4, data: 2}}, megatron]
jobs:
  - {name: lone, nodes: [e], workload: *xl, strategy: megatron}
  - {name: across, nodes: [b, c], workload: *xl, strategy: {fixed: {pipeline: 2, data: 4}}}
)";

}  // namespace

TEST_CASE("a result with other jobs says how long a step takes alone, and how each of them fares") {
  const TemporaryFolder folder;
  const std::string two = folder.file("two.yaml", kTwoJobs);
  const Ended ended = trainyard_program("run " + two + " --format json");
  REQUIRE(ended.status == 0);
  const auto results = nlohmann::json::parse(ended.out)["results"];
  REQUIRE(results.size() == 3);
  CHECK(results[0]["gpus"] == 8);
  for (const auto& result : results) {
    CHECK(result["alone_step_time_s"].is_number());
    REQUIRE(result["jobs"].size() == 2);
    CHECK(result["jobs"][1]["name"] == "across");
    CHECK(result["jobs"][1]["gpus"] == 8);
    CHECK(result["jobs"][1]["step_time_s"].get<double>() >= 0.999999 * result["jobs"][1]["alone_step_time_s"].get<double>());
  }
}

TEST_CASE("the table has a line for each other job, and explain says who is on which nodes") {
  const TemporaryFolder folder;
  const std::string two = folder.file("two.yaml", kTwoJobs);
  const Ended table = trainyard_program("run " + two);
  CHECK_THAT(table.out, Catch::Contains("  beside megatron: job lone (megatron): ") && Catch::Contains("  beside megatron: job across (fixed): "));
  const Ended explained = trainyard_program("explain " + two);
  CHECK_THAT(explained.out, Catch::Contains("jobs on this fabric\n") && Catch::Contains("  across on 1 x b (4 A100-SXM4-80GB) + 1 x c (4 A100-SXM4-80GB): "));
}

TEST_CASE("the same bytes with --jobs 1 and 2, with other jobs beside and with times that are drawn") {
  const TemporaryFolder folder;
  const std::string two = folder.file("two.yaml", kTwoJobs + "run: {seed: 7, jitter: {kernels: 0.03, communication: 0.05}}\n");
  const Ended one = trainyard_program("run " + two + " --format json --jobs 1");
  CHECK(one.status == 0);
  CHECK(one.out == trainyard_program("run " + two + " --format json --jobs 2").out);
  CHECK(trainyard_program("run " + two + " --jobs 1").out == trainyard_program("run " + two + " --jobs 2").out);
}

TEST_CASE("the same bytes with --jobs 1 and 2 where every device draws for itself") {
  const TemporaryFolder folder;
  const std::string drawn = folder.file("drawn.yaml", kSmall + "run: {seed: 7, jitter: {kernels: 0.03, communication: 0.05, draw: device}}\n");
  const Ended one = trainyard_program("run " + drawn + " --format json --jobs 1"), two = trainyard_program("run " + drawn + " --format json --jobs 2");
  CHECK(one.status == 0);
  CHECK(one.out == two.out);
}
