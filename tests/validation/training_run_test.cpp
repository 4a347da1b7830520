#include "validation/sources/training_run.hpp"

#include <catch2/catch.hpp>

#include "validation/csv.hpp"

using namespace trainyard;

namespace {

TrainingRun base() {
  TrainingRun run;
  run.site = {.gpu = "A100-SXM4-80GB"};
  run.gpus = 32;
  run.model = "llama-2-7b";
  run.layers = 32;
  run.sequence_length = 4096;
  run.global_batch = 64;
  run.software = "megatron-core-2024";
  return run;
}

}  // namespace

TEST_CASE("a run reads as a scenario") {
  TrainingRun run = base();
  run.tensor = 4;
  run.pipeline = 2;
  run.chunks = 4;
  run.recompute = "full";
  CHECK(cluster_text(run) ==
        "{nodes: [{name: gpu, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 4, nics: 8, nic: 200 Gbps}]}");
  CHECK(workload_text(run) ==
        "{model: llama-2-7b, sequence_length: 4096, global_batch: 64, precision: bf16, software: megatron-core-2024}");
  CHECK(plan_text(run) ==
        "{tensor: 4, data: 4, pipeline: 2, chunks: 4, schedule: interleaved, micro_batch: 1, recompute: full}");
}

TEST_CASE("part of a node gives its first GPUs") {
  TrainingRun run = base();
  run.gpus = 4;
  CHECK(plan_text(run) == "{tensor: 1, data: 4, micro_batch: 1, devices: gpu.0.0-3}");
  run.gpus = 1;
  CHECK(plan_text(run) == "{tensor: 1, micro_batch: 1, devices: gpu.0.0}");
}

TEST_CASE("embedding and head take a layer's place where layers do not divide otherwise") {
  TrainingRun run = base();
  run.pipeline = 4;
  run.layers = 30;
  run.ends_count_as_layers = true;
  CHECK(plan_text(run).find("layers: [7, 8, 8, 7]") != std::string::npos);
  run.layers = 32;
  CHECK(plan_text(run).find("layers") == std::string::npos);
}

TEST_CASE("sizes that contradict each other are no scenario") {
  TrainingRun run = base();
  run.tensor = 3;
  CHECK_THROWS_WITH(plan_text(run), "tensor 3 x pipeline 1 x context 1 x shard 1 does not divide 32 GPUs");
  run.gpus = 12;
  CHECK_THROWS_WITH(cluster_text(run), "12 GPUs are no whole number of nodes of 8");
}

TEST_CASE("Megatron's formula: GPT-3 175B takes 138 TFLOP/s of 1,024 GPUs for 32 s") {
  const double seconds = gpt_flops(96, 12288, 51200, 2048, 1536, true) / (138e12 * 1024);
  CHECK(seconds == Approx(32).epsilon(0.03));
}
