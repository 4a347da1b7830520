// Bad Plans, each with the exact line.
#include <catch2/catch.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

namespace {
const Cluster& cluster() {
  static const Cluster value = cluster_of({{"a", "A100-SXM4-80GB", 2, 8}, {"v", "V100-SXM2-32GB", 1, 8}});
  return value;
}
std::string errors(const std::string& yaml) { return checked(yaml, cluster(), workload_of(8, 64)); }

/// A Plan of two stages, for what no text can say.
Plan two_stages() {
  return plan_of(
      "{layout: [data: 8], stages: [{devices: a.0, layers: [embedding, 0-3]}, {devices: a.1, layers: [4-7, head]}]}",
      cluster(), workload_of(8, 64));
}
std::string lines(const Plan& plan) {
  std::string text;
  for (const std::string& line : plan.check(cluster(), workload_of(8, 64))) text += line + "\n";
  return text;
}
}  // namespace

TEST_CASE("good Plans have no problems") {
  CHECK(errors("{devices: a.0, data: 8}") == "");
  CHECK(errors("{devices: a, tensor: 8, pipeline: 2}") == "");
  CHECK(lines(two_stages()) == "");
  CHECK(
      errors(
          "{layout: [tensor: 8], pipelines: [{batch: 48, micro_batches: 48, devices: a.0}, {batch: 16, micro_batches: "
          "16, stages: [{devices: a.1, layers: [embedding, 0-6]}, {devices: v.0, layers: [7, head]}]}]}") == "");
}

TEST_CASE("layouts that do not fit their stage") {
  CHECK(errors("{devices: a.0, layout: [data: 2, tensor: 8]}") ==
        "stage 0: layout [data: 2, tensor: 8] spans 16 devices, the stage has 8\n");
  CHECK(errors("{devices: a.0, layout: [data: 8], rules: [{layers: 0-3, layout: [data: 4]}]}") ==
        "stage 0, layers 0-3: layout [data: 4] spans 4 devices, the stage has 8\n");
  CHECK(errors("{devices: a.0, layout: [data: 2, data: 4]}") ==
        "stage 0: layout [data: 2, data: 4] has the axis data twice\n");
  CHECK(errors("{devices: a.0.0-2, batch: 63, layout: [tensor: 3]}") ==
        "stage 0: 32 attention heads do not divide over tensor: 3\n"
        "the batches of the pipelines sum to 63, the global batch is 64\n");
  CHECK(errors("{devices: a.0, layout: [data: 8], rules: [{ops: experts, layout: [expert: 4]}]}") ==
        "stage 0: operators experts: layout [expert: 4] spans 4 devices, they have 8\n"
        "an `expert` axis for layers without experts: not simulated yet\n");
}

TEST_CASE("key-value heads may be fewer than the tensor axis, but must share evenly") {
  Workload workload = workload_of(8, 64);
  const Cluster wide = cluster_of({{"a", "A100-SXM4-80GB", 4, 8}});
  CHECK(checked("{tensor: 32}", wide, workload) == "");
  workload.modules[0].types[1].operators[0].attention.key_value_heads = 6;
  CHECK(checked("{devices: a.0, tensor: 8}", wide, workload) ==
        "stage 0: 6 key-value heads do not divide over tensor: 8\n");
}

TEST_CASE("devices") {
  CHECK(errors("{devices: [a.0.0-6, a.0.0], layout: [data: 8]}") == "stage 0: device a.0.0 stands twice\n");
  CHECK(errors("{devices: [a.0.0-6, a.0.cpu], layout: [data: 8]}") == "stage 0: a.0.cpu is no GPU\n");
  Plan plan = two_stages();
  plan.phases[0].parts[0].stages[1].devices.clear();
  CHECK(lines(plan) == "stage 1: no devices\n");
  CHECK(errors("{layout: [data: 8], stages: [{devices: a.0, layers: [embedding, 0-3]}, {devices: a.0, layers: [4-7, "
               "head]}]}") == "a device in several stages but for schedules dualpipe and colocated: not simulated yet\n");
}

TEST_CASE("ids out of range") {
  Plan plan = two_stages();
  plan.phases[0].parts[0].stages[0].devices[0] = DeviceId{999};
  plan.phases[0].parts[0].stages[1].chunks[0].push_back(LayerId{-1});
  plan.phases[0].parts[0].stages[1].rules[0].layers = {LayerId{77}};
  plan.phases[0].parts[0].stages[1].rules[0].devices = {DeviceId{-2}};
  plan.phases[0].parts[0].pipelines[0].stages.push_back(StageId{7});
  CHECK(lines(plan) ==
        "stage 0: device number 999 does not exist\n"
        "stage 1: layer number -1 does not exist\n"
        "stage 1: a rule names layer number 77, which does not exist\n"
        "stage 1: a rule names device number -2, which does not exist\n"
        "pipeline 0: stage number 7 does not exist\n");
  Plan other = two_stages();
  other.phases[0].parts[0].pass = PassId{3};
  CHECK(lines(other) == "pass number 3 does not exist\n");
  CHECK(lines(Plan{}) == "the Plan has no phases\n");
  other.phases[0].parts.clear();
  CHECK(lines(other) == "phase 0 has no parts\n");
}

TEST_CASE("layers") {
  const auto stages = [](const std::string& first, const std::string& second) {
    return errors("{layout: [data: 8], stages: [{devices: a.0, layers: [" + first + "]}, {devices: a.1, layers: [" +
                  second + "]}]}");
  };
  CHECK(stages("embedding, 0-3", "5-7, head") == "pipeline 0: layer 4 in no stage\n");
  CHECK(stages("embedding, 0-2", "5-7") == "pipeline 0: layers 3-4, head in no stage\n");
  CHECK(stages("embedding, 0-4", "4-7, head") == "pipeline 0: layer 4 stands twice, in stage 0 and in stage 1\n");
  CHECK(stages("4-7, head", "embedding, 0-3") == "pipeline 0: layer embedding comes after layer head\n");
  CHECK(stages("0, embedding, 1-3", "4-7, head") == "pipeline 0: layer embedding comes after layer 0\n");
  CHECK(errors("{layout: [data: 8], stages: {one: {devices: a.0, layers: [embedding, 0-7, head]}, two: {devices: a.1, "
               "layers: 0}}, "
               "pipelines: [{stages: [one]}]}") == "stage two: in no pipeline\n");
  CHECK(errors("{layout: [data: 8], devices: a.0, pipelines: [{batch: 32}, {batch: 32}]}") ==
        "device a.0.0 holds layer embedding twice, in stage 0 and in stage 1\n"
        "a device in several stages but for schedules dualpipe and colocated: not simulated yet\n");
}

TEST_CASE("batches") {
  CHECK(errors("{devices: a.0, batch: 32, layout: [data: 8]}") ==
        "the batches of the pipelines sum to 32, the global batch is 64\n");
  CHECK(errors("{devices: a.0, batch: 64, micro_batches: 3, layout: [data: 8]}") ==
        "pipeline 0: batch 64 does not divide into 3 micro-batches\n");
  CHECK(errors("{devices: a.0, batch: 64, micro_batches: 16, layout: [data: 8]}") ==
        "pipeline 0, stage 0: a micro-batch of 4 samples does not divide over 8 data ranks\n");
  CHECK(errors("{devices: a.0, batch: 64, micro_batches: 32, layout: [rows: 2, columns: 2, inner: 2]}") ==
        "pipeline 0, stage 0: 2 samples of a data rank do not divide over 4 parts of a grid (rows x inner)\n");
  CHECK(errors("{devices: a.0, batch: 64, micro_batches: 2, layout: [tensor: 8], slices: {rows: 3}}") ==
        "pipeline 0, stage 0: 32 samples of a data rank do not divide over 3 slices\n");
  CHECK(errors("{devices: a.0, batch: 64, samples: [0, 1], layout: [data: 8]}") ==
        "pipeline 0: batch 64, but 2 samples are listed\n`samples` of a pipeline with more than one data rank: not simulated yet\n");
  CHECK(errors("{devices: a.0, batch: 63.5, layout: [data: 8]}") ==
        "pipeline 0: batch 63.5: a whole number of samples, at least 1\n"
        "the batches of the pipelines sum to 63.5, the global batch is 64\n");
  Plan plan = two_stages();
  plan.phases[0].parts[0].pipelines[0].micro_batches = 0;
  plan.phases[0].parts[0].stages[0].in_flight = 0;
  plan.phases[0].parts[0].stages[1].rules[0].settings.zero = 4;
  plan.phases[0].parts[0].stages[1].rules[0].settings.sync = Sync{SyncWhat::gradients, 0, 0, std::nullopt};
  plan.phases[0].parts[0].schedule = "1f1bb";
  CHECK(lines(plan) ==
        "unknown schedule \"1f1bb\"; known: gpipe, 1f1b, interleaved, zb_h1, zb_v, dualpipe, breadth_first, "
        "colocated, asynchronous\n"
        "stage 0: in_flight 0: at least 1\n"
        "stage 1: zero is 0 to 3, not 4\n"
        "stage 1: sync every 0 steps: at least 1\n"
        "pipeline 0: micro_batches 0: at least 1\n"
        "`sync` other than gradients in every step without lag: not simulated yet\n");
}

TEST_CASE("data types of the GPUs used") {
  Workload workload = workload_of(8, 64);
  workload.precision = DataType::bf16;
  CHECK(checked("{devices: v.0, data: 8}", cluster(), workload) ==
        "V100-SXM2-32GB has no bf16; it has fp16\n");
  CHECK(checked("{devices: a.0, data: 8}", cluster(), workload) == "");
  workload.precision = DataType::fp8;
  CHECK(checked("{devices: a.0, data: 8}", cluster(), workload) == "A100-SXM4-80GB has no fp8; it has fp16, bf16\n");
}
