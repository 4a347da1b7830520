#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

namespace {
/// Describes, writes, reads and resolves again; returns the text in between.
std::string there_and_back(const Plan& plan, const Cluster& cluster, const Workload& workload) {
  const std::string text = to_yaml(describe(plan, cluster, workload));
  INFO(text);
  CHECK(plan_of(text, cluster, workload) == plan);
  return text;
}
}  // namespace

TEST_CASE("the long form of a short one") {
  const Cluster cluster = cluster_of({{"a100", "A100-SXM4-80GB", 8, 8}});
  const Workload workload = workload_of(40, 512);
  const Plan plan = plan_of("{tensor: 8, pipeline: 4, data: 2, zero: 1, recompute: selective, layers: [10, 12, 12, 6]}",
                            cluster, workload);
  CHECK(there_and_back(plan, cluster, workload) ==
        "order: 1f1b\n"
        "batch: 512\n"
        "micro_batches: 256\n"
        "layout: [data: 2, tensor: 8]\n"
        "zero: 1\n"
        "recompute: selective\n"
        "stages:\n"
        "- {devices: a100.0-1, layers: [embedding, 0-9]}\n"
        "- {devices: a100.2-3, layers: 10-21}\n"
        "- {devices: a100.4-5, layers: 22-33}\n"
        "- {devices: a100.6-7, layers: [34-39, head]}\n");
  CHECK(one_line(plan, cluster, workload) ==
        "TP8 · PP4 [10,12,12,6] · DP2 · micro-batch 1 · 1f1b · ZeRO-1 · recompute selective");
}

TEST_CASE("describing and resolving give the same Plan") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 2, 8}, {"v", "V100-SXM2-32GB", 2, 8}});
  const Workload workload = workload_of(24, 64);
  for (
      const char* text :
      {"{data: 16, expert: 4, pipeline: 2, chunks: 2, schedule: interleaved}",
       "{tensor: 4, data: 4, pipeline: 2, rank_order: [data, pipeline, tensor]}",
       "{data: 32, zero: 1, home: {optimizer: host, weights: {at: a.0.cpu, buffers: 2, sliced: true}}, sync: {lag: "
       "any, "
       "bucket: 25 MB}, wire: {weights: fp8, all_reduce: tree}}",
       "{layout: [data: 2, tensor: 8], stages: [{devices: a, layers: [embedding, 0-15], in_flight: 3}, {devices: v, "
       "layers: [16-23, head], recompute: {every: 2}, rules: [{layers: 17-18, zero: 0}, {ops: head, layout: [columns: "
       "16]}]}]}",
       "{layout: [tensor: 8], pipelines: [{batch: 40, micro_batches: 40, devices: a.0}, {batch: 24, micro_batches: 24, "
       "stages: [{devices: v.0, layers: [embedding, 0-9]}, {devices: v.1, layers: [10-23, head]}]}]}",
       "{stages: {e: {devices: v.0, layers: [8-23, head]}, x: {devices: a.0.0, layers: [embedding, 0-7]}, y: {devices: "
       "[a.0.1, a.0.3, a.1.7], layers: [embedding, 0-7]}}, pipelines: [{stages: [x, e]}, {stages: [y, e]}]}",
       "{devices: a.0.0-1, batching: {sequences: 8}, dispatch: [2, 1], layout: [tensor: 2]}",
       "{devices: [v.0-1.0-3, a.1.0], layout: [data: [3, 1, 1, 1, 1, 1, 1, 1, 1]], slices: {rows: 2}, streams: "
       "{tensor: "
       "compute}, context_kind: ulysses, sequence_parallel: false, redundant_forward: true, rules: [{ops: experts, owners: [0-1, [2, 5, 6]]}]}",
       "{switch: {mode: live, delay: 40 ms}, devices: a.0, phases: [{iterations: 0-4, layout: [data: 8]}, {iterations: "
       "5-9, layout: [tensor: 8]}]}",
       "{batch: 64, micro_batches: 2, stages: [{devices: a.0.0, layers: [embedding, 0-9]}, {devices: a.0.1, layers: "
       "[10-23, head]}], order: [{compute: F0 F1 B0 B1, h2d: R0@F1}, {compute: F0 B0 F1 B1.0}]}"}) {
    INFO(text);
    there_and_back(plan_of(text, cluster, workload), cluster, workload);
  }
}

TEST_CASE("device sets are compressed and keep their order") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 4, 8}});
  const Workload workload = workload_of(4, 64);
  const auto shown = [&](const std::string& set) {
    const Plan plan = plan_of("{devices: " + set + ", batch: 64}", cluster, workload);
    const std::string text = to_yaml(describe(plan, cluster, workload));
    const std::size_t start = text.find("devices: ") + 9;
    return text.substr(start, text.find_first_of("}\n", start) - start);
  };
  CHECK(shown("a") == "a.0-3, layers: [embedding, 0-3, head]");
  CHECK(shown("[a.0, a.1]").starts_with("a.0-1,"));
  CHECK(shown("[a.1, a.0]").starts_with("[a.1, a.0],"));
  CHECK(shown("[a.0.0, a.0.1, a.0.2]").starts_with("a.0.0-2,"));
  CHECK(shown("\"a.0-3.0-7:2\"").starts_with("\"a.0-3.0-6:2\","));
  CHECK(shown("[a.0.1, a.0.0]").starts_with("[a.0.1, a.0.0],"));
  CHECK(shown("a.0-3.5").starts_with("a.0-3.5,"));
}

TEST_CASE("one line for one GPU, and for a mixed pipeline") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-40GB", 2, 8}, {"v", "V100-SXM2-16GB", 4, 8}});
  const Workload workload = workload_of(40, 512);
  CHECK(one_line(plan_of("{devices: a.0.0}", cluster, workload), cluster, workload) == "1 GPU · micro-batch 1");
  CHECK(one_line(plan_of("{devices: a.0, data: 8}", cluster, workload), cluster, workload) == "DP8 · micro-batch 1");
  const Plan mixed = plan_of(
      "{batch: 512, micro_batches: 256, layout: [data: 2, tensor: 8], recompute: selective, stages: [{devices: a, "
      "layers: "
      "[embedding, 0-19]}, {devices: v.0-1, layers: 20-31}, {devices: v.2-3, layers: [32-39, head]}]}",
      cluster, workload);
  CHECK(one_line(mixed, cluster, workload) ==
        "DP2 · [TP8 A100 x 20 layers → TP8 V100 x 12 → TP8 V100 x 8] · micro-batch 1 · 1f1b · recompute selective");
}
