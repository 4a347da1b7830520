// The planners' own cost models where they can be worked out by hand, and what they decide where it is plain.
#include <catch2/catch.hpp>

#include "sim/planning/layer_costs.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

const char* const kModel = "{model: {family: llama, layers: 4, hidden: 1024, heads: 8, ffn: 2816, vocabulary: 32000}, sequence_length: 1024, "
                           "global_batch: 8, precision: fp16, optimizer: adam, software: megatron-core-2024}";

Scenario on(const std::string& nodes, const std::string& fabric, const std::string& strategies, const std::string& workload = kModel) {
  return load_scenario_text("cluster: {nodes: [" + nodes + "], fabric: " + fabric + "}\nworkload: " + workload + "\nstrategies: [" + strategies + "]\n", "test.yaml", ".");
}

CaseResult run(const Scenario& scenario) {
  const WorkerNursery nursery = WorkerNursery::start();
  return run_cases(fixture::cases_of(scenario), {}, 1, nursery, nullptr).front();
}

}  // namespace

TEST_CASE("on one GPU every model says: micro-batches times forward and backward") {
  const std::string strategy = GENERATE("dapple", "pipedream", "galvatron", "galvatron_bmw", "pipette");
  const Scenario scenario = on("{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 1, count: 1, nics: 1, nic: 100 Gbps}", "{kind: star}", strategy);
  const Cluster& cluster = scenario.variants[0].cluster;
  const Router router(cluster);
  LayerCosts costs(cluster, scenario.variants[0].workload, router);
  const CaseResult result = run(scenario);
  INFO(strategy << ": " << result.plan_line << " " << result.reason);
  REQUIRE(result.status == CaseStatus::ok);
  REQUIRE(result.planner_estimate);
  bool is_one = false;
  for (const int size : {1, 2, 4, 8}) {
    Seconds pass{};
    for (const LayerCost& layer : costs.of({{cluster.gpus()[0]}, double(size), RecomputeKind::none})) pass += layer.forward + layer.backward;
    is_one = is_one || std::abs(*result.planner_estimate / (pass * (8.0 / size)) - 1) < 1e-9;
  }
  CHECK(is_one);
}

TEST_CASE("dapple gives the slower GPUs fewer layers, and pipedream, which takes all to be alike, does not") {
  const std::string nodes = "{name: a, gpu: A100-SXM4-40GB, gpus_per_node: 1, count: 1, nics: 1, nic: 100 Gbps}, "
                            "{name: v, gpu: V100-SXM2-16GB, gpus_per_node: 1, count: 1, nics: 1, nic: 100 Gbps}";
  const std::string workload = "{model: {family: llama, layers: 8, hidden: 2048, heads: 16, ffn: 5632, vocabulary: 32000}, sequence_length: 2048, "
                               "global_batch: 16, precision: fp16, optimizer: adam, software: megatron-core-2024}";
  const CaseResult dapple = run(on(nodes, "{kind: star}", "dapple", workload)), pipedream = run(on(nodes, "{kind: star}", "pipedream", workload));
  CHECK(dapple.plan_line.starts_with("[A100 x 7 layers → V100 x 1]"));
  CHECK(pipedream.plan_line.starts_with("[A100 x 4 layers → V100 x 4]"));
  CHECK(dapple.step.step_time < pipedream.step.step_time);
}

TEST_CASE("pipette lets neighbours talk over fast links: nodes of two sites that the file names in turn") {
  std::string nodes;
  for (const char* name : {"a", "b", "c", "d"})
    nodes += std::string(nodes.empty() ? "" : ", ") + "{name: " + name + ", gpu: A100-SXM4-40GB, gpus_per_node: 1, count: 1, nics: 1, nic: 100 Gbps, region: " +
             (name[0] % 2 == 1 ? "east" : "west") + "}";
  const std::string fabric = "{kind: regions, wan: {bandwidth: 1 Gbps, latency: 20 ms}}";
  const CaseResult result = run(on(nodes, fabric, "{pipette: {simulate: 40}}"));
  INFO(result.plan_json << result.reason);
  REQUIRE(result.status == CaseStatus::ok);
  const CaseResult in_order = run(on(nodes, fabric, "megatron"));
  CHECK(result.step.step_time < in_order.step.step_time);
}
