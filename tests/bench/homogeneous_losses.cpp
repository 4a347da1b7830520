// The table of strategies/README.md: each strategy against megatron on clusters of equal GPUs, where more than 2 % slower is a failure.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/job/case.hpp"
#include "sim/planning/registry.hpp"
#include "sim/scenario/scenario.hpp"

using namespace trainyard;

namespace {

constexpr double kFailure = 0.02;

struct EqualCluster {
  const char* name;
  const char* cluster;
  const char* workload;
};
/// The gallery's two clusters of equal GPUs, one node, and four on one switch.
constexpr EqualCluster kPlaces[] = {
    {"one node", "{nodes: [{name: h100, gpu: H100-SXM5-80GB, gpus_per_node: 8, count: 1, nics: 8, nic: 400 Gbps, transport: infiniband}], fabric: {kind: star}}",
     "{model: llama-2-7b, sequence_length: 4096, global_batch: 64, precision: bf16, optimizer: adam, software: megatron-core-2024}"},
    {"four nodes", "{nodes: [{name: a100, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 4, nics: 8, nic: 200 Gbps, transport: infiniband}], fabric: {kind: star}}",
     "{model: llama-2-13b, sequence_length: 4096, global_batch: 128, precision: bf16, optimizer: adam, software: megatron-core-2024}"},
    {"oversubscribed", "{nodes: [{name: a100, gpu: A100-SXM4-40GB, gpus_per_node: 4, count: 8, nics: 4, nic: 200 Gbps, transport: infiniband}], fabric: {kind: fat_tree, leaf: 4, oversubscription: 10}}",
     "{model: llama-2-7b, sequence_length: 4096, global_batch: 128, precision: bf16, optimizer: adam, software: megatron-core-2024}"},
    {"two regions", "{nodes: [{name: east, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 2, nics: 8, nic: 200 Gbps, transport: infiniband, region: east}, "
                    "{name: west, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 2, nics: 8, nic: 200 Gbps, transport: infiniband, region: west}], "
                    "fabric: {kind: regions, matrix: [{between: [east, west], bandwidth: 5 Gbps, latency: 30 ms}]}}",
     "{model: llama-2-7b, sequence_length: 4096, global_batch: 256, precision: bf16, optimizer: adam, software: megatron-core-2024}"}};

std::vector<std::string> chosen(int count, char** names) {
  std::vector<std::string> strategies(names + 1, names + count);
  if (strategies.empty())
    for (const std::string& name : StrategyRegistry::instance().names())
      if (name != "fixed" && name != "external" && name != "megatron") strategies.push_back(name);
  strategies.insert(strategies.begin(), "megatron");
  return strategies;
}

std::vector<CaseResult> run(const EqualCluster& place, const std::vector<std::string>& strategies, const WorkerNursery& nursery) {
  std::string list;
  for (const std::string& name : strategies) list += (list.empty() ? "" : ", ") + name;
  const Scenario scenario = load_scenario_text(fmt::format("cluster: {}\nworkload: {}\nstrategies: [{}]\n", place.cluster, place.workload, list), "equal.yaml", ".");
  std::vector<Case> cases;
  for (const StrategyChoice& choice : scenario.strategies)
    cases.push_back({place.name, "", choice.name, &scenario.variants[0].cluster, &scenario.variants[0].workload, nullptr, ".", 1});
  return run_cases(cases, {}, 2, nursery, nullptr);
}

std::string cell(const CaseResult& result, const CaseResult& megatron) {
  if (result.status != CaseStatus::ok) return "none";
  const double loss = result.step.step_time / megatron.step.step_time - 1;
  return fmt::format("{}{:+.1f} %{}", loss > kFailure ? "**" : "", 100 * loss, loss > kFailure ? "**" : "");
}

}  // namespace

int main(int count, char** names) {
  const WorkerNursery nursery = WorkerNursery::start();
  const std::vector<std::string> strategies = chosen(count, names);
  std::map<std::string, std::string> rows;
  std::string head = "| strategy |", rule = "|---|", failures;
  for (const EqualCluster& place : kPlaces) {
    const std::vector<CaseResult> results = run(place, strategies, nursery);
    if (results[0].status != CaseStatus::ok) continue;
    head += fmt::format(" {} |", place.name);
    rule += "---|";
    for (std::size_t i = 1; i < results.size(); ++i) {
      rows[strategies[i]] += fmt::format(" {} |", cell(results[i], results[0]));
      if (results[i].status == CaseStatus::ok && results[i].step.step_time > results[0].step.step_time * (1 + kFailure))
        failures += fmt::format("failure: {} on {}: {} instead of {}\n", strategies[i], place.name, results[i].plan_line, results[0].plan_line);
    }
  }
  fmt::print("{}\n{}\n", head, rule);
  for (const auto& [name, row] : rows) fmt::print("| `{}` |{}\n", name, row);
  fmt::print("\n{}", failures);
  return failures.empty() ? 0 : 1;
}
