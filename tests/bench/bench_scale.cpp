// Whole runs through the library: how time and memory grow with the cluster, and what no symmetry at all costs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>

#include "sim/job/case.hpp"
#include "tests/bench/child.hpp"
#include "tests/bench/llama3_405b.hpp"

namespace trainyard {
namespace {

struct Figures {
  double step_time_s, tasks, classes;
};

/// 512 GPUs in eight regions, each with 16 micro-batches a data rank.
std::string llama2_70b_world_wide(int tensor, int pipeline) {
  const int data = 512 / tensor / pipeline;
  std::string nodes;
  for (int region = 0; region < 8; ++region)
    nodes += fmt::format(
        "    - {{name: r{0}, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 8, nics: 8, nic: 200 Gbps, region: r{0}}}\n",
        region);
  return "cluster:\n  nodes:\n" + nodes +
         fmt::format(
             "  fabric: {{kind: regions, wan: {{bandwidth: 10 Gbps, latency: 40 ms}}}}\n"
             "workload: {{model: llama-2-70b, sequence_length: 4096, global_batch: {}, precision: bf16, optimizer: "
             "adam,"
             " software: megatron-core-2024}}\n"
             "strategies:\n  - {{fixed: {{tensor: {}, pipeline: {}, data: {}, micro_batch: 1, recompute: full}}}}\n",
             16 * data, tensor, pipeline, data);
}

/// Every GPU a type of its own, from its catalogue speed down to half of it.
void make_distinct(Cluster& cluster) {
  const std::vector<DeviceId> gpus = cluster.gpus();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const double speed = 1 - 0.5 * double(i) / double(gpus.size());
    DeviceType type = cluster.type_of(gpus[i]);
    type.name += fmt::format(" number {}", i);
    for (auto& [data_type, peak] : type.peak) peak = peak * speed;
    type.memory_bandwidth = type.memory_bandwidth * speed;
    cluster.devices[index(gpus[i])].type = id_at<DeviceTypeId>(cluster.device_types.size());
    cluster.device_types.push_back(std::move(type));
  }
}

/// Reads, plans, lowers, simulates, reports; NaN where that failed.
Figures whole_run(const std::string& text, bool distinct) {
  const WorkerNursery nursery = WorkerNursery::start();
  Scenario scenario = load_scenario_text(text, "scale.yaml", ".");
  Variant& variant = scenario.variants.front();
  if (distinct) make_distinct(variant.cluster);
  const StrategyChoice& choice = scenario.strategies.front();
  Case which{scenario.name, variant.name, choice.name, &variant.cluster, &variant.workload, &choice.options, "."};
  CaseOptions options;
  options.symmetry = !distinct;
  const CaseResult result = run_case(which, options, nursery);
  if (result.status == CaseStatus::error) fmt::print(stderr, "{}\n", result.reason);
  if (result.status == CaseStatus::error) std::exit(1);
  return {result.step.step_time.value, double(result.step.simulated_tasks), double(result.step.device_classes)};
}

void measure(benchmark::State& state, const std::string& text, bool distinct) {
  double least_cpu_s = 0, most_mb = 0;
  Figures figures{};
  for (auto _ : state) {
    const auto measured = bench::in_child<Figures>([&] { return whole_run(text, distinct); });
    if (!measured.ended_well) return state.SkipWithError("the run failed");
    figures = measured.result;
    least_cpu_s = least_cpu_s == 0 ? measured.cpu_s : std::min(least_cpu_s, measured.cpu_s);
    most_mb = std::max(most_mb, measured.peak_mb);
    state.SetIterationTime(measured.wall_s);
  }
  state.counters["least_cpu_s"] = least_cpu_s;
  state.counters["peak_MB"] = most_mb;
  state.counters["classes"] = figures.classes;
  state.counters["tasks"] = figures.tasks;
  state.counters["step_s"] = figures.step_time_s;
}

void llama3_405b_run(benchmark::State& state) { measure(state, bench::llama3_405b(int(state.range(0))), false); }
BENCHMARK(llama3_405b_run)
    ->ArgName("gpus")
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(16384)
    ->Arg(65536)
    ->Arg(100352)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void no_symmetry_run(benchmark::State& state) {
  measure(state, llama2_70b_world_wide(int(state.range(0)), int(state.range(1))), true);
}
BENCHMARK(no_symmetry_run)
    ->ArgNames({"tensor", "pipeline"})
    ->Args({8, 8})
    ->Args({1, 16})
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard

BENCHMARK_MAIN();
