// A route between two GPUs on each kind of large fabric: the first between them, and one that is known.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <random>

#include "sim/config/view.hpp"
#include "sim/routing/router.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {
namespace {

Cluster cluster_with(const std::string& fabric, int nodes) {
  Diagnostics diagnostics;
  const ConfigValue section = read_yaml_text(
      fmt::format("{{nodes: [{{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: {}, nics: 8, nic: 200 Gbps}}], fabric: {}}}", nodes, fabric),
      "bench", diagnostics);
  Cluster cluster = build_cluster(section, ".", diagnostics);
  diagnostics.throw_if_any();
  return cluster;
}

/// Each pair is asked for once, so that nothing is known; pairs are drawn evenly.
void new_routes(benchmark::State& state, const std::string& fabric, int nodes) {
  const Cluster cluster = cluster_with(fabric, nodes);
  const Router router(cluster);
  const std::vector<DeviceId> gpus = cluster.gpus();
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> any(0, gpus.size() - 1);
  double links = 0, routes = 0;
  for (auto _ : state) {
    links += double(router.route(gpus[any(random)], gpus[any(random)]).links.size());
    ++routes;
  }
  state.counters["links"] = links / routes;
}

BENCHMARK_CAPTURE(new_routes, fat_tree, "{kind: fat_tree, leaf: 32}", 4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(new_routes, rail, "{kind: rail, leaf: 32}", 4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(new_routes, torus_2d, "{kind: torus, shape: [64, 64]}", 4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(new_routes, torus_3d, "{kind: torus, shape: [16, 16, 16]}", 4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(new_routes, dragonfly, "{kind: dragonfly, leaf: 8, group: 16}", 4096)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trainyard

BENCHMARK_MAIN();
