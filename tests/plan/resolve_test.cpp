// The dense examples of the format, resolved by hand.
#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

namespace {
constexpr int kDevicesPerNode = 11;  // 8 GPUs, then cpu, ssd, nic

Layout layout(std::initializer_list<std::pair<AxisKind, int>> axes) {
  Layout result;
  for (const auto& [kind, size] : axes) result.push_back(equal_axis(kind, size));
  return result;
}

/// GPUs of whole nodes, node by node.
std::vector<DeviceId> nodes(int first, int count) {
  std::vector<DeviceId> ids;
  for (int n = first; n < first + count; ++n)
    for (const DeviceId d : devices(n * kDevicesPerNode, 8)) ids.push_back(d);
  return ids;
}

const Part& only_part(const Plan& plan) {
  REQUIRE(plan.phases.size() == 1);
  REQUIRE(plan.phases[0].parts.size() == 1);
  return plan.phases[0].parts[0];
}
}  // namespace

TEST_CASE("Megatron 3-D: the long form, and the short form that stands for it") {
  const Cluster cluster = cluster_of({{"a100", "A100-SXM4-80GB", 8, 8}});
  const Workload workload = workload_of(40, 512);
  const Plan plan = plan_of(
      "order: interleaved\nbatch: 512\nmicro_batches: 256\nlayout: [data: 2, tensor: 8]\nzero: 1\nrecompute: "
      "selective\n"
      "stages:\n"
      "- {devices: a100.0-1, chunks: [[embedding, 0-4], [20-24]]}\n"
      "- {devices: a100.2-3, chunks: [[5-9], [25-29]]}\n"
      "- {devices: a100.4-5, chunks: [[10-14], [30-34]]}\n"
      "- {devices: a100.6-7, chunks: [[15-19], [35-39, head]]}\n",
      cluster, workload);
  const Part& part = only_part(plan);
  CHECK(part.schedule == "interleaved");
  REQUIRE(part.pipelines.size() == 1);
  CHECK(part.pipelines[0].batch == 512);
  CHECK(part.pipelines[0].micro_batches == 256);
  REQUIRE(part.stages.size() == 4);
  CHECK(part.stages[0].devices == nodes(0, 2));
  CHECK(part.stages[3].devices == nodes(6, 2));
  CHECK(part.stages[0].chunks == std::vector{layers(0, 5), layers(21, 25)});
  CHECK(part.stages[3].chunks == std::vector{layers(16, 20), layers(36, 41)});
  REQUIRE(part.stages[0].rules.size() == 1);
  CHECK(part.stages[0].rules[0].settings.layout == layout({{AxisKind::data, 2}, {AxisKind::tensor, 8}}));
  CHECK(part.stages[0].rules[0].settings.zero == 1);
  CHECK(plan == plan_of("{tensor: 8, pipeline: 4, data: 2, chunks: 2, micro_batch: 1, schedule: interleaved, zero: 1, "
                        "recompute: selective}",
                        cluster, workload));
}

TEST_CASE("FSDP in shards of a node") {
  const Cluster cluster = cluster_of({{"h100", "H100-SXM5-80GB", 4, 8}});
  const Workload workload = workload_of(8, 512);
  const Plan plan = plan_of(
      "{devices: h100.0-3, batch: 512, micro_batches: 4, layout: [data: 4, shard: 8], zero: 3, regather: true, "
      "sync: {bucket: layer}}",
      cluster, workload);
  const Stage& stage = only_part(plan).stages.at(0);
  CHECK(stage.devices == nodes(0, 4));
  CHECK(stage.chunks == std::vector<std::vector<LayerId>>{layers(0, 9)});
  const Settings settings = settings_of(stage, LayerId{3}, workload);
  CHECK(settings.layout == layout({{AxisKind::data, 4}, {AxisKind::shard, 8}}));
  CHECK(settings.zero == 3);
  CHECK(settings.sync->bucket == Bytes(0));
}

TEST_CASE("AutoHet: unequal pipelines") {
  const Cluster cluster =
      cluster_of({{"a100", "A100-SXM4-40GB", 2, 8}, {"v100", "V100-SXM2-16GB", 1, 8}, {"h20", "H20-SXM-96GB", 1, 8}});
  const Workload workload = workload_of(40, 384);
  const Plan plan = plan_of(
      "order: 1f1b\nlayout: [tensor: 4]\nsync: {bucket: layer}\npipelines:\n"
      "- {batch: 128, micro_batches: 128, stages: [{devices: a100.0.0-3, layers: [embedding, 0-19]}, {devices: "
      "a100.0.4-7, layers: [20-39, head]}]}\n"
      "- {batch: 128, micro_batches: 128, stages: [{devices: h20.0.0-3, layers: [embedding, 0-23]}, {devices: "
      "v100.0.0-3, layers: 24-31}, {devices: v100.0.4-7, layers: [32-39, head]}]}\n"
      "- {batch: 128, micro_batches: 128, stages: [{devices: h20.0.4-7, layers: [embedding, 0-11]}, {devices: "
      "a100.1.0-3, layers: 12-25}, {devices: a100.1.4-7, layers: [26-39, head]}]}\n",
      cluster, workload);
  const Part& part = only_part(plan);
  REQUIRE(part.pipelines.size() == 3);
  REQUIRE(part.stages.size() == 8);
  CHECK(part.pipelines[1].stages == std::vector{StageId{2}, StageId{3}, StageId{4}});
  CHECK(part.stages[3].devices == devices(2 * kDevicesPerNode, 4));
  CHECK(part.stages[3].chunks == std::vector<std::vector<LayerId>>{layers(25, 32)});
  CHECK(plan.check(cluster, workload).empty());
  CHECK(one_line(plan, cluster, workload) ==
        "[TP4 A100 x 20 layers → TP4 A100 x 20] + [TP4 H20 x 24 layers → TP4 V100 x 8 → TP4 V100 x 8] + "
        "[TP4 H20 x 12 layers → TP4 A100 x 14 → TP4 A100 x 14] · micro-batch 1 · 1f1b");
}

TEST_CASE("Galvatron: rules cut to the layers of each stage") {
  const Cluster cluster = cluster_of({{"titan", "RTX-TITAN", 2, 8}});
  const Workload workload = workload_of(24, 64);
  const Plan plan = plan_of(
      "{order: gpipe, batch: 64, micro_batches: 4, layout: [shard: 8], zero: 3, stages: [{devices: titan.0, layers: "
      "[embedding, 0-11]}, {devices: titan.1, layers: [12-23, head]}],\n"
      " rules: [{layers: 0-5, layout: [data: 2, tensor: 4]}, {layers: 6-8, layout: [shard: 4, tensor: 2], recompute: "
      "full}]}",
      cluster, workload);
  const Part& part = only_part(plan);
  REQUIRE(part.stages[0].rules.size() == 3);
  CHECK(part.stages[0].rules[1].layers == layers(1, 6));
  CHECK(part.stages[1].rules.size() == 1);
  const auto layout_of = [&](int layer) { return *settings_of(part.stages[0], LayerId{layer}, workload).layout; };
  CHECK(layout_of(0) == layout({{AxisKind::shard, 8}}));
  CHECK(layout_of(1) == layout({{AxisKind::data, 2}, {AxisKind::tensor, 4}}));
  CHECK(layout_of(7) == layout({{AxisKind::shard, 4}, {AxisKind::tensor, 2}}));
  CHECK(settings_of(part.stages[0], LayerId{7}, workload).recompute->kind == RecomputeKind::full);
}

TEST_CASE("DAPPLE: replicas a stage and their depth") {
  const Cluster cluster = cluster_of({{"v100", "V100-SXM2-16GB", 2, 8}});
  const Workload workload = workload_of(48, 256);
  const Plan plan = plan_of(
      "{order: 1f1b, batch: 256, micro_batches: 16, stages: [{devices: v100.0, layers: [embedding, 0-37], layout: "
      "[data: 8], in_flight: 3}, "
      "{devices: v100.1.0-1, layers: [38-47, head], layout: [data: 2], in_flight: 1}]}",
      cluster, workload);
  const Part& part = only_part(plan);
  CHECK(part.stages[0].in_flight == 3);
  CHECK(part.stages[1].in_flight == 1);
  CHECK(part.stages[1].devices == devices(kDevicesPerNode, 2));
  CHECK(one_line(plan, cluster, workload) == "[DP8 V100 x 38 layers → DP2 V100 x 10] · micro-batch 2-8 · 1f1b");
}

TEST_CASE("defaults: all GPUs, all layers, data parallel, the batch shared by the pipelines") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 2, 4}});
  const Workload workload = workload_of(4, 64);
  const Plan plan = plan_of("{micro_batches: 2}", cluster, workload);
  const Part& part = only_part(plan);
  CHECK(part.stages[0].devices == cluster.gpus());
  CHECK(part.stages[0].chunks == std::vector<std::vector<LayerId>>{layers(0, 5)});
  CHECK(part.stages[0].rules[0].settings.layout == layout({{AxisKind::data, 8}}));
  CHECK(part.pipelines[0].batch == 64);
  CHECK(part.pipelines[0].micro_batches == 2);
  const Plan two = plan_of("pipelines: [{devices: a.0}, {devices: a.1}]", cluster, workload);
  CHECK(only_part(two).pipelines[0].batch == 32);
  CHECK(only_part(two).pipelines[0].micro_batches == 1);
}

TEST_CASE("settings: inner beats outer, rules beat both; homes are merged by state") {
  const Cluster cluster = cluster_of({{"a", "A100-SXM4-80GB", 1, 4}});
  const Workload workload = workload_of(4, 64);
  const Plan plan = plan_of(
      "zero: 1\nrules: [{layers: 0, zero: 0}]\nhome: {weights: host}\nphases:\n"
      "- {zero: 2, home: {optimizer: a.0.cpu}, stages: [{layers: [embedding, 0-3, head], zero: 0, recompute: full}]}\n",
      cluster, workload);
  const Stage& stage = only_part(plan).stages[0];
  const Settings settings = settings_of(stage, LayerId{2}, workload);
  CHECK(settings.zero == 0);
  CHECK(settings.recompute->kind == RecomputeKind::full);
  CHECK(settings.home.at(State::weights).place == Place::host);
  CHECK(settings.home.at(State::optimizer).at == devices(4, 1));
  REQUIRE(stage.rules.size() == 2);
  CHECK(stage.rules[1].layers == layers(1, 1));
}

TEST_CASE("named stages, shared by pipelines, and steps in device sets") {
  const Cluster cluster = cluster_of({{"user", "A10-24GB", 2, 1}, {"edge", "A100-SXM4-80GB", 1, 8}});
  const Workload workload = workload_of(8, 8);
  const Plan plan = plan_of(
      "sync: {what: weights, every: 20}\n"
      "stages: {edge: {devices: \"edge.0.0-7:2\", layers: [2-7, head], in_flight: 1}}\n"
      "pipelines: [{batch: 4, stages: [{devices: user.0, layers: [embedding, 0-1]}, edge]}, "
      "{batch: 4, stages: [{devices: user.1, layers: [embedding, 0-1]}, edge]}]",
      cluster, workload);
  const Part& part = only_part(plan);
  CHECK(part.pipelines[0].stages == std::vector{StageId{1}, StageId{0}});
  CHECK(part.pipelines[1].stages == std::vector{StageId{2}, StageId{0}});
  CHECK(part.stages[0].devices == devices(8, 4, 2));
  CHECK(part.stages[0].name == "edge");
}

TEST_CASE("order tables become lanes") {
  const Cluster cluster = cluster_of({{"h100", "H100-SXM5-80GB", 1, 2}});
  const Workload workload = workload_of(4, 4);
  const Plan plan = plan_of(
      "{batch: 4, micro_batches: 4, stages: [{devices: h100.0.0, layers: [embedding, 0-1]}, {devices: h100.0.1, "
      "layers: [2-3, head]}],\n"
      " order: [{compute: F0 F1 B0 B1, h2d: R0@F1}, {compute: F0 B0 F1 B1}]}",
      cluster, workload);
  CHECK(only_part(plan).schedule == "table");
  REQUIRE(plan.phases[0].lanes.size() == 3);
  const Lane& reload = plan.phases[0].lanes[1];
  CHECK(reload.stream == "h2d");
  CHECK(reload.devices == devices(0, 1));
  CHECK(reload.entries.at(0).operation == Operation{'R', PassId{}, 0, 0});
  CHECK(reload.entries.at(0).not_before == Operation{'F', PassId{}, 1, 0});
}

TEST_CASE("names that do not exist are reported with their place") {
  const Cluster cluster = cluster_of({{"a100", "A100-SXM4-80GB", 2, 8}});
  const Workload workload = workload_of(4, 64);
  const auto errors = [&](const std::string& yaml) { return resolve_text(yaml, cluster, workload).errors; };
  CHECK(errors("{devices: a10, layout: [data: 8]}") ==
        "1:11: devices: no node group \"a10\"; did you mean \"a100\"?\n");
  CHECK(errors("{devices: a100.0-2, layout: [data: 8]}") ==
        "1:11: devices: a100.0-2: nodes of a100: there is no 2; they are 0 to 1\n");
  CHECK(errors("{devices: a100.0.6-8, layout: [data: 8]}") ==
        "1:11: devices: a100.0.6-8: GPUs of a100.0: there is no 8; they are 0 to 7\n");
  CHECK(errors("{layers: [embedding, 0-99999999], layout: [data: 16]}") ==
        "1:10: layers: no layer 4; model has embedding, 0-3, head\n");
  CHECK(errors("{layout: [data: 16], rules: [{layers: heads, zero: 0}]}") ==
        "1:39: rules[0].layers: no layer heads; model has embedding, 0-3, head\n");
  CHECK(errors("parts: {tune: {layout: [data: 16]}}") == "1:15: parts.tune: no pass \"tune\"; known: train\n");
  CHECK(errors("{stages: {one: {devices: a100}}, pipelines: [{stages: [two]}]}") ==
        "1:55: pipelines[0].stages: no stage \"two\"; known: one\n");
  CHECK(errors("stages: [{devices: a100.0}, {devices: a100.1}]") ==
        "1:10: stages[0]: `layers` is missing: a pipeline of several stages says what each holds\n"
        "1:29: stages[1]: `layers` is missing: a pipeline of several stages says what each holds\n");
  CHECK(errors("pipelines: [{}, {}, {}]") ==
        "1:13: pipelines[0]: the global batch of 64 does not divide over 3 pipelines: give each its `batch`\n"
        "1:17: pipelines[1]: the global batch of 64 does not divide over 3 pipelines: give each its `batch`\n"
        "1:21: pipelines[2]: the global batch of 64 does not divide over 3 pipelines: give each its `batch`\n");
  CHECK(errors("{order: [{compute: F0}], stages: [{layers: [embedding, 0]}, {layers: [1-3, head]}]}") ==
        "1:9: order: 1 order tables for 2 stages: one each\n");
  CHECK(errors("{tensor: 8}") == "1:1: : tensor 8 need 8 devices, there are 16\n");
}
