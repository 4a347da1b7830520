// What the grammar says and the lowering does not know: each by its name.
#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

TEST_CASE("constructs that are not simulated yet are named") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 2, 8}});
  const Workload workload = workload_of(8, 64);
  const auto named = [&](const std::string& yaml, const std::string& construct) {
    INFO(yaml);
    CHECK(checked(yaml, cluster, workload) == construct + ": not simulated yet\n");
  };
  const std::string one = "devices: a.0, layout: [data: 8], batch: 64, ";
  named("{" + one + "zero: 2, order: zb_h1}", "`zero: 2` with weight gradients apart (zb_h1, zb_v, dualpipe, tables)");
  named("{layout: [data: 8], zero: 2, pipelines: [{devices: a.0, batch: 32}, {devices: a.1, batch: 32}]}", "`zero: 2` in several pipelines");
  named("{devices: a.0, layout: [shard: 8], batch: 64, zero: 1}", "`shard` axis with `zero` below 3");
  named("{" + one + "zero: 3, order: zb_h1}", "`zero: 3` with weight gradients apart (zb_h1, zb_v, dualpipe, tables)");
  named("{devices: a, batch: 64, micro_batches: 4, order: interleaved, layout: [data: 8], stages: [{devices: a.0, chunks: [[embedding, 0-1], [4-5]]}, "
        "{devices: a.1, chunks: [[2-3], [6-7, head]]}], rules: [{layers: 0-3, zero: 1}], zero: 0}",
        "layouts or `zero` that differ inside a stage of several chunks or with schedule `dualpipe`");
  named("{" + one + "home: {optimizer: storage}}", "`home` in storage or on other devices");
  named("{" + one + "home: {optimizer: a.1.0}}", "`home` in storage or on other devices");
  named("{" + one + "home: {kv: host}}", "`home` of kv");
  named("{" + one + "zero: 0, home: {weights: {at: host, sliced: true}}}", "`home` with `sliced`");
  named("{" + one + "order: zb_h1, home: {optimizer: host}}",
        "`home` on the host with a schedule other than gpipe, 1f1b and interleaved (of activations, with tables too)");
  named("{" + one + "zero: 1, home: {weights: host}}",
        "`home` of weights or gradients on the host with `zero` 1 or 2 (states exist once a host with `zero: 0`)");
  named("{" + one + "zero: 0, home: {gradients: host}}", "`home` of gradients on the host without the optimizer");
  named("{devices: a, layout: [data: 16], zero: 0, home: {gradients: host, optimizer: host}}",
        "`home` of gradients on several hosts but for `zero: 3`");
  named("{" + one + "update: layer}", "`update: layer` with the optimizer on the device");
  named("{" + one + "update: next_visit}", "`update: next_visit`");
  for (const char* not_plain : {"zero: 3", "zero: 0, home: {optimizer: host}"})
    named("{" + one + "redundant_forward: true, " + not_plain + "}",
          "`redundant_forward` but in stages of one chunk and one layout alike, with `zero` below 3 and states on the device");
  named("{" + one + "sync: {every: 4}}", "`sync` other than gradients in every step without lag");
  named("{" + one + "wire: {share: 0.5}}", "`wire.share`");
  named("{" + one + "wire: {transport: roce}}", "`wire.transport`");
  named("{" + one + "wire: {all_reduce: sharded_ps}}", "`wire.all_reduce: sharded_ps`");
  named("{" + one + "wire: {weights: fp8}}", "`wire.weights`");
  named("{" + one + "wire: {optimizer: bf16}}", "`wire.optimizer`");
  named("{" + one + "wire: {activations: int8}}", "`wire.activations`");
  named("{" + one + "wire: {kv: fp8}}", "`wire.kv`");
  named("{" + one + "zero: 0, wire: {gradients: bf16}, home: {optimizer: host}}",
        "`wire.gradients` with `home` of gradients or the optimizer on the host");
  named("{devices: a, batch: 64, micro_batches: 4, order: interleaved, layout: [data: 8], stages: [{devices: a.0, chunks: [[embedding, 0-1], [4-5]]}, "
        "{devices: a.1, chunks: [[2-3], [6-7, head]]}], rules: [{layers: 0-3, wire: {all_reduce: tree}}]}",
        "`wire` that differs inside a stage of several chunks or with schedule `dualpipe`");
  named("{layout: [data: 8], pipelines: [{devices: a.0, batch: 32}, {devices: a.1, batch: 32, wire: {gradients: bf16}}]}",
        "pipelines that hold a layer with different `wire`");
  named("{devices: a.0, layout: [rows: 2, columns: 2, tensor: 2], batch: 64}", "a grid (`rows`, `columns`, `inner`) beside another axis than `data`");
  named("{layout: [data: 8], zero: 0, pipelines: [{devices: a.0, batch: 32}, {devices: a.1, batch: 32, layout: [rows: 2, columns: 2, inner: 2]}]}",
        "a grid where layouts differ inside a stage, between stages or between pipelines");
  named("{devices: a.0, layout: [data: 4, rows: 2], batch: 64, zero: 3}",
        "a grid with `zero` above 1, adapters, measured layers, offload or `redundant_forward`");
  named("{" + one + "zero: 3, slices: {rows: 2}}", "`slices` with a grid, a `context` axis, `zero: 3`, measured layers or `redundant_forward`");
  named("{devices: a, batch: 64, micro_batches: 4, order: interleaved, layout: [data: 8], stages: [{devices: a.0, chunks: [[embedding, 0-1], [4-5]]}, "
        "{devices: a.1, chunks: [[2-3], [6-7, head]]}], rules: [{layers: 0-3, slices: {rows: 2}}]}",
        "`slices` that differ inside a stage of several chunks or with schedule `dualpipe`");
  for (const char* stream : {"streams: {data: compute}", "streams: {tensor: tensor}", "slices: {rows: 2}, streams: {tensor: data}"})
    named("{" + one + stream + "}", "`streams` other than `{tensor: tensor}` and `{tensor: compute}` beside `slices`");
  named("{" + one + "owners: [0-7]}", "`owners` outside a rule for experts");
  named("{" + one + "switch: {delay: 1 s}}", "`switch`");
  named("{" + one + "iterations: 0-9}", "`iterations` of a phase");
  named("{" + one + "order: asynchronous}", "schedule `asynchronous`");
  named("{" + one + "order: [{compute: F0 B0, tensor: F0}]}", "a stream other than compute, d2h and h2d in `order`");
  named("{" + one + "dispatch: round_robin}", "`dispatch`");
  named("{" + one + "rules: [{ops: head, recompute: none}]}", "a rule with `ops` other than experts and tables");
  named("{" + one + "rules: [{ops: experts, zero: 0}]}", "a rule for experts that says more than `layout` and `owners` (for tables: and `sync`)");
  named("{" + one + "rules: [{ops: experts, layout: [data: 4, context: 2]}]}",
        "a layout of experts with other axes than data, expert and tensor");
  named("{devices: a.0, layout: [expert: 8]}", "an `expert` axis outside a rule for experts");
  named("{" + one + "rules: [{devices: a.0, recompute: none}]}", "a rule with `devices`");
  named("{devices: a.0, layout: [data: 4, variant: 2]}", "`variant` axis");
  named("{devices: a.0, layout: [context: [2, 1, 1, 1, 1, 1, 1, 1]]}", "unequal shares of an axis other than data and tensor");
  named("{devices: a.0, zero: 3, layout: [data: [2, 1, 1, 1, 1, 1, 1, 1]]}", "unequal shares of a data axis with `zero: 3` or a `shard` axis");
  named("{devices: a.0, batch: 64, layout: [data: 2, tensor: [2, 1, 1, 1]]}",
        "unequal shares of a tensor axis with other axes, several pipelines, `zero: 3` or a `home`");
  named("{devices: a, pipeline: 2, data: 8, chunks: 2}", "several `chunks` in a stage with schedule gpipe, 1f1b, zb_h1, dualpipe or colocated");
  named(
      "{pipelines: [{batch: 32, devices: a.0, layout: [data: 8], zero: 0}, {batch: 32, devices: a.1, layout: [data: 8], "
      "zero: 1}]}",
      "pipelines that shard a layer's states at different levels of `zero`");
  named("{pipelines: [{batch: 32, devices: a.0, layout: [shard: 8]}, {batch: 32, devices: a.1, layout: [shard: 4, tensor: 2]}]}",
        "pipelines that cut a layer over tensor axes of different size with `zero: 3`");
  named("{devices: a.0, layout: [data: 4, context: 2], batch: 64, zero: 3}", "a `context` axis with `zero: 3` but no `shard` axis");
  named("{layout: [data: 8], phases: [{devices: a.0}, {devices: a.1}]}", "several `phases`");
}

TEST_CASE("a part without pipelines, a shared stage, a pass that does not train") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 3, 8}});
  Workload workload = workload_of(8, 64);
  CHECK(checked("{layout: [data: 8], dispatch: shortest_path, stages: {s: {devices: a.0, layers: 0}}}", cluster,
                workload) == "`dispatch`: not simulated yet\na part without pipelines: not simulated yet\n");
  CHECK(
      checked(
          "{layout: [data: 8], stages: {s: {devices: a.0, layers: [4-7, head]}}, pipelines: [{stages: [{devices: a.1, "
          "layers: [embedding, 0-3]}, s]}, {stages: [{devices: a.2, layers: [embedding, 0-3]}, s]}]}",
          cluster, workload) == "a stage that several pipelines pass through: not simulated yet\n");
  workload.passes[0].kind = PassKind::generate;
  CHECK(checked("{devices: a.0, batching: {sequences: 8}, layout: [tensor: 8]}", cluster, workload) ==
        "a pass that does not train: not simulated yet\n`batching`: not simulated yet\n");
}

TEST_CASE("several parts are checked each by its name") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 1, 8}});
  Workload workload = workload_of(8, 64);
  workload.passes.push_back({"encoder", ModuleId{}, PassKind::forward, {}, 1, 0, 1, 1});
  CHECK(checked("parts: {encoder: {batch: 32, layout: [data: 8]}, train: {layout: [data: 4]}}", cluster, workload) ==
        "part encoder: the batches of the pipelines sum to 32, the global batch is 64\n"
        "part train: stage 0: layout [data: 4] spans 4 devices, the stage has 8\n"
        "several `parts`: not simulated yet\n"
        "a pass that does not train: not simulated yet\n");
}
