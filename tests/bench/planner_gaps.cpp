// The table of strategies/README.md: how far each planner is from exhaustive on 30 random clusters of up to 6 GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string_view>

#include "sim/job/case.hpp"
#include "sim/planning/registry.hpp"
#include "sim/scenario/scenario.hpp"

using namespace trainyard;

namespace {

constexpr int kClusters = 30;
/// What they can say, exhaustive cannot: layouts inside a stage, unequal shares, split backward passes and offloads, other depths.
constexpr std::array<std::string_view, 8> kWider{"domino", "galvatron", "galvatron_bmw", "hap", "hapt", "optpipe", "rethinking", "tensor_3d"};

/// Two to four nodes of one or two GPUs, six GPUs at most, of three types, over 10, 25, 100 or 200 Gbps; models of 0.1 to 1 B.
std::string random_scenario(std::mt19937_64& random) {
  const auto one_of = [&](std::initializer_list<const char*> words) { return std::string(words.begin()[random() % words.size()]); };
  std::string nodes;
  int gpus = 0;
  const std::string speed = one_of({"10", "25", "100", "200"});
  for (int n = 0, count = 2 + int(random() % 3); n < count; ++n) {
    const int own = std::min(1 + int(random() % 2), 6 - gpus);
    if (own == 0) break;
    gpus += own;
    nodes += fmt::format("{}{{name: n{}, gpu: {}, gpus_per_node: {}, count: 1, nics: 1, nic: {} Gbps}}", n > 0 ? ", " : "", n,
                         one_of({"A100-SXM4-40GB", "V100-SXM2-16GB", "H100-SXM5-80GB"}), own, speed);
  }
  const std::string size = one_of({"hidden: 1024, heads: 8, ffn: 2816", "hidden: 2048, heads: 16, ffn: 5632", "hidden: 3072, heads: 24, ffn: 8192"});
  const std::string layers = one_of({"4", "6", "8"}), batch = one_of({"8", "12", "16", "32"});
  return fmt::format("cluster: {{nodes: [{}], fabric: {{kind: star}}}}\nworkload: {{model: {{family: llama, layers: {}, {}, vocabulary: 32000}}, "
                     "sequence_length: 2048, global_batch: {}, precision: fp16, optimizer: adam, software: megatron-core-2024}}\n",
                     nodes, layers, size, batch);
}

struct Gaps {
  std::vector<double> gaps;              ///< step time over exhaustive's, minus 1
  int none = 0;                          ///< clusters without a Plan
};

bool is_wider(const std::string& name) { return std::ranges::find(kWider, name) != kWider.end(); }

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<CaseResult> run(const std::string& text, const std::vector<std::string>& strategies, const WorkerNursery& nursery) {
  std::string list;
  for (const std::string& name : strategies) list += (list.empty() ? "" : ", ") + name;
  const Scenario scenario = load_scenario_text(text + "strategies: [" + list + "]\n", "random.yaml", ".");
  std::vector<Case> cases;
  for (const StrategyChoice& choice : scenario.strategies)
    cases.push_back({"random", "", choice.name, &scenario.variants[0].cluster, &scenario.variants[0].workload, nullptr, ".", 1});
  return run_cases(cases, {}, 2, nursery, nullptr);
}

/// Strategies to compare; all that need no options where none are named.
std::vector<std::string> chosen(int count, char** names) {
  std::vector<std::string> strategies(names + 1, names + count);
  if (strategies.empty())
    for (const std::string& name : StrategyRegistry::instance().names())
      if (name != "fixed" && name != "external") strategies.push_back(name);
  return strategies;
}

}  // namespace

int main(int count, char** names) {
  const WorkerNursery nursery = WorkerNursery::start();
  const std::vector<std::string> strategies = chosen(count, names);
  std::map<std::string, Gaps> table;
  std::mt19937_64 random(1);
  int compared = 0;
  for (int cluster = 0; cluster < kClusters; ++cluster) {
    const std::string scenario = random_scenario(random);
    const std::vector<CaseResult> results = run(scenario, strategies, nursery);
    const auto best = std::ranges::find(results, "exhaustive", &CaseResult::strategy);
    if (best->status != CaseStatus::ok) continue;
    ++compared;
    for (const CaseResult& result : results)
      if (result.status != CaseStatus::ok) {
        ++table[result.strategy].none;
      } else {
        table[result.strategy].gaps.push_back(result.step.step_time / best->step.step_time - 1);
        if (table[result.strategy].gaps.back() < -0.001)  // a wider space, or a candidate that exhaustive did not simulate
          fmt::print(stderr, "{}{} ({}) before {}\n", scenario, result.strategy, result.plan_line, best->plan_line);
      }
  }
  fmt::print("| strategy | Plans on {} clusters | as good (within 1 %) | median gap | median gap, wider space | worst gap | faster than exhaustive by |\n|---|---|---|---|---|---|---|\n",
             compared);
  for (const auto& [name, gaps] : table) {
    if (gaps.gaps.empty()) {
      fmt::print("| `{}` | 0 | | | | | |\n", name);
      continue;
    }
    const auto as_good = std::ranges::count_if(gaps.gaps, [](double gap) { return gap < 0.01; });
    const double least = std::ranges::min(gaps.gaps);
    const std::string median = fmt::format("{:.1f} %", 100 * (is_wider(name) ? middle(gaps.gaps) : std::max(0.0, middle(gaps.gaps))));
    fmt::print("| `{}` | {} | {} | {} | {} | {:.0f} % | {} |\n", name, gaps.gaps.size(), as_good, is_wider(name) ? "" : median, is_wider(name) ? median : "",
               100 * std::max(0.0, std::ranges::max(gaps.gaps)), least < -0.001 ? fmt::format("{:.1f} %", -100 * least) : "");
  }
}
