// `import megatron-args`, `torchtitan-args`, `deepspeed-args` and `export`: a launch comes back as it was.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

using namespace trainyard;

namespace {

/// Arguments of NVIDIA/Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh (commit 157006d), on 128 nodes.
const std::string kGpt3 = R"(#!/bin/bash
GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-128}
WORLD_SIZE=$(($GPUS_PER_NODE * $NUM_NODES))
LAUNCH=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --master_addr localhost)
MODEL=(
  --num-layers 96 --hidden-size 12288   # GPT-3
  --num-attention-heads 96 --seq-length 2048
  --max-position-embeddings 2048 --attention-backend auto
)
TRAINING="--micro-batch-size 1 --global-batch-size 1536 --train-iters 500000 --weight-decay 0.1 --clip-grad 1.0 \
  --fp16 --lr 6.0e-5 --min-lr 6.0e-6"
torchrun ${LAUNCH[@]} pretrain_gpt.py ${MODEL[@]} $TRAINING --rampup-batch-size 16 16 5859375 \
  --vocab-size 50257 --data-path $DATA_PATH --merge-file "$2" \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16
)";

const std::string kGpt3Back =
    R"(# Plan of train.yaml for Megatron-LM. Data, tokenizer, learning rate and checkpoints are yours to add.
torchrun --nproc-per-node 8 --nnodes 128 pretrain_gpt.py \
  --num-layers 96 \
  --hidden-size 12288 \
  --num-attention-heads 96 \
  --max-position-embeddings 2048 \
  --vocab-size 50257 \
  --seq-length 2048 \
  --micro-batch-size 1 \
  --global-batch-size 1536 \
  --fp16 \
  --tensor-model-parallel-size 8 \
  --pipeline-model-parallel-size 16
)";

/// MT-NLG 530B of Korthikanti et al. 2022 (arXiv:2205.05198), Table 3: tensor 8, pipeline 35, interleaved by 3, batch
/// 280; with sequence parallelism and selective recompute (§4.2, §5).
const std::string kMtNlg = R"(torchrun --nproc-per-node 8 --nnodes 35 pretrain_gpt.py \
  --num-layers 105 \
  --hidden-size 20480 \
  --num-attention-heads 128 \
  --max-position-embeddings 2048 \
  --vocab-size 51200 \
  --seq-length 2048 \
  --micro-batch-size 1 \
  --global-batch-size 280 \
  --fp16 \
  --tensor-model-parallel-size 8 \
  --pipeline-model-parallel-size 35 \
  --num-layers-per-virtual-pipeline-stage 1 \
  --sequence-parallel \
  --recompute-granularity selective
)";

/// Arguments of NVIDIA/Megatron-LM examples/llama/train_llama3_8b_h100_fp8.sh (commit 157006d) that mean something
/// here.
const std::string kLlama = R"(torchrun --nproc-per-node 8 --nnodes 1 pretrain_gpt.py \
  --num-layers 32 \
  --hidden-size 4096 \
  --ffn-hidden-size 14336 \
  --num-attention-heads 32 \
  --group-query-attention \
  --num-query-groups 8 \
  --max-position-embeddings 8192 \
  --position-embedding-type rope \
  --swiglu \
  --untie-embeddings-and-output-weights \
  --disable-bias-linear \
  --vocab-size 128256 \
  --seq-length 8192 \
  --micro-batch-size 1 \
  --global-batch-size 128 \
  --bf16 \
  --fp8-format hybrid \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --sequence-parallel \
  --use-distributed-optimizer \
  --overlap-grad-reduce \
  --overlap-param-gather \
  --grad-reduce-in-bf16 \
  --attention-backend fused \
  --cross-entropy-loss-fusion
)";

/// What pre-training a 13B on uneven stages may look like: both ends of the pipeline are shorter.
const std::string kUneven = R"(torchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py \
  --num-layers 38 \
  --hidden-size 5120 \
  --ffn-hidden-size 13824 \
  --num-attention-heads 40 \
  --max-position-embeddings 4096 \
  --position-embedding-type rope \
  --normalization RMSNorm \
  --swiglu \
  --untie-embeddings-and-output-weights \
  --disable-bias-linear \
  --vocab-size 32000 \
  --seq-length 4096 \
  --micro-batch-size 2 \
  --global-batch-size 64 \
  --bf16 \
  --clip-grad 0.0 \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --tensor-model-parallel-size 4 \
  --pipeline-model-parallel-size 4 \
  --decoder-first-pipeline-num-layers 9 \
  --decoder-last-pipeline-num-layers 9 \
  --use-tp-pp-dp-mapping \
  --use-distributed-optimizer \
  --recompute-granularity full \
  --recompute-method uniform \
  --recompute-num-layers 1 \
  --overlap-grad-reduce \
  --transformer-impl local \
  --no-rope-fusion \
  --no-bias-swiglu-fusion
)";

/// Sizes of Mixtral 8x7B; experts on four devices each, cut otherwise than attention.
const std::string kMixtral = R"(torchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py \
  --num-layers 32 \
  --hidden-size 4096 \
  --ffn-hidden-size 14336 \
  --num-attention-heads 32 \
  --group-query-attention \
  --num-query-groups 8 \
  --max-position-embeddings 32768 \
  --position-embedding-type rope \
  --normalization RMSNorm \
  --swiglu \
  --untie-embeddings-and-output-weights \
  --disable-bias-linear \
  --vocab-size 32000 \
  --seq-length 4096 \
  --micro-batch-size 1 \
  --global-batch-size 64 \
  --bf16 \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --tensor-model-parallel-size 2 \
  --pipeline-model-parallel-size 4 \
  --sequence-parallel \
  --use-distributed-optimizer \
  --num-experts 8 \
  --moe-expert-capacity-factor 1.5 \
  --moe-pad-expert-input-to-capacity \
  --expert-model-parallel-size 4 \
  --expert-tensor-parallel-size 1 \
  --moe-token-dispatcher-type alltoall
)";

/// Sizes of DeepSeek-V2-Lite, with what V3 adds: groups of experts, tokens that go to a node once, a module that predicts ahead.
const std::string kLatent = R"sh(torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py \
  --num-layers 27 \
  --hidden-size 2048 \
  --ffn-hidden-size 10944 \
  --num-attention-heads 16 \
  --max-position-embeddings 4096 \
  --position-embedding-type rope \
  --normalization RMSNorm \
  --swiglu \
  --untie-embeddings-and-output-weights \
  --disable-bias-linear \
  --vocab-size 102400 \
  --seq-length 4096 \
  --micro-batch-size 1 \
  --global-batch-size 32 \
  --bf16 \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --use-distributed-optimizer \
  --num-experts 64 \
  --moe-router-topk 6 \
  --moe-ffn-hidden-size 1408 \
  --moe-shared-expert-intermediate-size 2816 \
  --moe-layer-freq "([0]*1+[1]*26)" \
  --moe-router-enable-expert-bias \
  --moe-router-num-groups 2 \
  --moe-router-group-topk 1 \
  --expert-model-parallel-size 16 \
  --moe-token-dispatcher-type flex \
  --moe-enable-deepep \
  --moe-shared-expert-overlap \
  --multi-latent-attention \
  --q-lora-rank 1536 \
  --kv-lora-rank 512 \
  --mtp-num-layers 1
)sh";

std::string without_first_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

/// Import, export, import, export: the scenario, and both exports without their heads.
struct Trip {
  std::string scenario, first, second;
};
Trip round_trip(const TemporaryFolder& folder, const std::string& framework, const std::string& launch,
                const std::string& options) {
  const std::string kind = framework + "-args ", yaml = folder.file("train.yaml"), back = folder.file("back.sh");
  const std::string ranks = folder.file("ranks.txt");
  const Ended in = trainyard_program("import " + kind + launch + " " + options + " --out " + yaml);
  INFO(in.err);
  REQUIRE(in.status == 0);
  const Ended out =
      trainyard_program("export " + yaml + " --for " + framework + " --out " + back + " --ranks " + ranks);
  INFO(out.err);
  REQUIRE(out.status == 0);
  const Ended again = trainyard_program("import " + kind + back + " --cluster " + yaml + " --ranks " + ranks +
                                        " --out " + folder.file("again.yaml"));
  INFO(again.err);
  REQUIRE(again.status == 0);
  const Ended twice = trainyard_program("export " + folder.file("again.yaml") + " --for " + framework);
  REQUIRE(twice.status == 0);
  return {content(yaml), without_first_line(content(back)), without_first_line(twice.out)};
}

std::string plan_of(const std::string& scenario) {
  const Ended ended = trainyard_program("run " + scenario + " --format json --quiet");
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  const auto result = nlohmann::json::parse(ended.out).at("results").at(0);
  CHECK(result.at("status") == "ok");
  CHECK(result.at("step_time_s").get<double>() > 0);
  return result.at("plan").dump();
}

}  // namespace

TEST_CASE("Megatron-LM's GPT-3 example is imported, runs, and gives its arguments back") {
  const TemporaryFolder folder;
  const std::string yaml = folder.file("train.yaml");
  const Ended in = trainyard_program("import megatron-args " + folder.file("train.sh", kGpt3) +
                                     " --gpu A100-SXM4-80GB --nic '200 Gbps' --out " + yaml);
  CHECK(in.status == 0);
  CHECK_THAT(in.err, Catch::Contains("train.sh: --rampup-batch-size: every step has the whole global batch\n"));
  CHECK_THAT(in.err, Catch::Contains("without effect on a step's time and memory: --train-iters, --weight-decay, --lr, "
                                     "--min-lr, --data-path, --merge-file\n"));
  CHECK_THAT(
      content(yaml),
      Catch::Contains(
          "{tensor: 8, pipeline: 16, data: 8, micro_batch: 1, schedule: 1f1b, zero: 0, sequence_parallel: false}"));
  CHECK_THAT(plan_of(yaml), Catch::Contains("\"micro_batches\":192"));  // 1,536 sequences over 8 ranks
  const Ended out = trainyard_program("export " + yaml + " --for megatron");
  CHECK(out.status == 0);
  CHECK(out.err.empty());
  CHECK(out.out == kGpt3Back);
}

TEST_CASE("canonical launches of Megatron-LM come back letter by letter") {
  const std::string launch = GENERATE_REF(kMtNlg, kLlama, kUneven, kMixtral, kLatent);
  const TemporaryFolder folder;
  const Trip trip = round_trip(folder, "megatron", folder.file("train.sh", launch), "--gpu H200-SXM-141GB");
  CHECK(trip.first == launch);
  CHECK(trip.second == launch);
  CHECK(plan_of(folder.file("train.yaml")) == plan_of(folder.file("again.yaml")));
}

TEST_CASE("experts of a launch are cut as the rest unless it says otherwise, and lie on the nodes that their groups say") {
  const TemporaryFolder folder;
  const auto scenario_of = [&](const std::string& launch) {
    const Ended in = trainyard_program("import megatron-args " + folder.file("train.sh", launch) + " --gpu H100-SXM5-80GB");
    INFO(in.err);
    REQUIRE(in.status == 0);
    return in.out;
  };
  CHECK_THAT(scenario_of(kMixtral), Catch::Contains("{tensor: 2, pipeline: 4, expert: 4, data: 4,") &&
                                        Catch::Contains("\n  routing: {capacity: 1.5, padded: true}\n"));
  std::string as_the_rest = kMixtral;
  as_the_rest.erase(as_the_rest.find("  --expert-tensor-parallel-size 1 \\\n"), 37);
  CHECK_THAT(scenario_of(as_the_rest), Catch::Contains("expert: 4, expert_tensor: 2, data: 4,"));
  CHECK_THAT(scenario_of(kLatent), Catch::Contains("dense_layers: 1, ") && Catch::Contains("head_size: 192, ") && Catch::Contains("value_size: 128}") &&
                                       Catch::Contains("\n  routing: {nodes: 1}\n") && Catch::Contains("deduplicates_dispatch: true"));
  std::string second = kLatent;
  second.replace(second.find("\"([0]*1+[1]*26)\""), 16, "'[0]+([0]+[1])*13'");
  CHECK_THAT(scenario_of(second), Catch::Contains("dense_layers: 1, expert_every: 2, "));
}

TEST_CASE("ranks: tensor inside context inside data inside pipeline, or with data outermost") {
  const TemporaryFolder folder;
  const Trip trip = round_trip(folder, "megatron", folder.file("train.sh", kUneven), "--gpu H100-SXM5-80GB");
  CHECK_THAT(trip.scenario, Catch::Contains("rank_order: [tensor, context, pipeline, data]"));
  // 4 tensor ranks x 4 stages x 2 replicas: rank 20 is the first tensor rank of stage 1 of replica 1.
  CHECK_THAT(content(folder.file("ranks.txt")), Catch::Contains("\n20\tnode.2.4\t0\t0\t1\t1\n"));
}

TEST_CASE("devices in an order of their own come back through the rank file") {
  const TemporaryFolder folder;
  const std::string plan =
      "{tensor: 2, data: 4, micro_batch: 1, zero: 1, sequence_parallel: true, devices: [a.0.4-7, a.0.0-3]}";
  const std::string scenario =
      folder.file("train.yaml", R"(cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8}]}
workload: {model: gpt3-1.3b, sequence_length: 2048, global_batch: 16, precision: bf16, software: megatron-core-2024}
strategies: [{fixed: )" + plan + "}]\n");
  const Ended out = trainyard_program("export " + scenario + " --for megatron --ranks " + folder.file("ranks.txt") +
                                      " --out " + folder.file("back.sh"));
  CHECK(out.status == 0);
  CHECK_THAT(out.err, Catch::Contains(
                          "ranks do not follow the cluster's devices: start them by the rank file (--ranks FILE)\n"));
  CHECK_THAT(content(folder.file("ranks.txt")), Catch::Contains("\n0\ta.0.4\t0\t0\t0\t0\n"));
  const Ended in = trainyard_program("import megatron-args " + folder.file("back.sh") + " --cluster " + scenario +
                                     " --ranks " + folder.file("ranks.txt") + " --out " + folder.file("again.yaml"));
  CHECK(in.status == 0);
  CHECK_THAT(content(folder.file("again.yaml")), Catch::Contains("devices: [a.0.4-7, a.0.0-3]"));
  CHECK(plan_of(scenario) == plan_of(folder.file("again.yaml")));
}

TEST_CASE("torchtitan: a TOML file, its flags, and back") {
  const TemporaryFolder folder;
  // The keys of pytorch/torchtitan's llama3_8b.toml with full recompute.
  (void)folder.file("llama3_8b.toml", R"([model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
steps = 1000
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 1
[activation_checkpoint]
mode = "full"
)");
  const std::string launch = folder.file("train.sh",
                                         "torchrun --nproc_per_node=8 --nnodes=1 -m torchtitan.train --job.config_file "
                                         "llama3_8b.toml --parallelism.tensor_parallel_degree 2\n");
  const Trip trip = round_trip(folder, "torchtitan", launch, "--gpu H100-SXM5-80GB");
  CHECK_THAT(trip.scenario, Catch::Contains("model: llama-3-8b") && Catch::Contains("global_batch: 4\n"));
  CHECK_THAT(
      trip.scenario,
      Catch::Contains(
          "{tensor: 2, shard: 4, micro_batch: 1, zero: 3, regather: true, sequence_parallel: true, recompute: full}"));
  CHECK(trip.first == R"(torchrun --nproc-per-node 8 --nnodes 1 -m torchtitan.train \
  --model.flavor 8B \
  --training.seq_len 8192 \
  --training.local_batch_size 1 \
  --parallelism.data_parallel_shard_degree 4 \
  --parallelism.tensor_parallel_degree 2 \
  --activation_checkpoint.mode full
)");
  CHECK(trip.second == trip.first);
  CHECK(plan_of(folder.file("train.yaml")) == plan_of(folder.file("again.yaml")));
}

TEST_CASE("torchtitan's experts are sharded over the ranks that their axis leaves, and come back") {
  const TemporaryFolder folder;
  const std::string launch = R"(torchrun --nproc-per-node 8 --nnodes 2 -m torchtitan.train \
  --model.name deepseek_v3 \
  --model.flavor 16B \
  --training.seq_len 4096 \
  --training.local_batch_size 4 \
  --parallelism.data_parallel_shard_degree 16 \
  --parallelism.expert_parallel_degree 8 \
  --activation_checkpoint.mode full
)";
  const Trip trip = round_trip(folder, "torchtitan", folder.file("train.sh", launch), "--gpu H100-SXM5-80GB");
  CHECK_THAT(trip.scenario, Catch::Contains("model: deepseek-v2-lite") && Catch::Contains("{expert: 8, shard: 16, micro_batch: 4, zero: 3,"));
  CHECK(trip.first == launch);
  CHECK(trip.second == launch);
  CHECK(plan_of(folder.file("train.yaml")) == plan_of(folder.file("again.yaml")));
}

TEST_CASE("DeepSpeed: a script that writes its configuration, and back") {
  const TemporaryFolder folder;
  // After deepspeedai/Megatron-DeepSpeed examples_deepspeed/pretrain_llama2_distributed.sh (commit b644fba).
  const std::string launch = folder.file("train.sh", R"(DS_CONFIG=./ds.json
TP=2
PP=2
MICRO=4
cat <<EOT > $DS_CONFIG
{
  "train_batch_size" : 32,
  "train_micro_batch_size_per_gpu": $MICRO,
  "steps_per_print": 1,
  "zero_optimization": { "stage": 1 },
  "bf16": { "enabled": true }
}
EOT
ds_args="--deepspeed --deepspeed_config=$DS_CONFIG --zero-stage=1"
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
  --num-layers 24 --hidden-size 2048 --ffn-hidden-size 5504 --num-attention-heads 16 --micro-batch-size $MICRO \
  --global-batch-size 32 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --lr 3e-4 --bf16 \
  --attention-dropout 0 --hidden-dropout 0 --use-rotary-position-embeddings --untie-embeddings-and-output-weights --swiglu \
  --normalization rmsnorm --disable-bias-linear --num-key-value-heads 4 $ds_args
)");
  const Trip trip = round_trip(folder, "deepspeed", launch, "--gpu H100-SXM5-80GB");
  CHECK_THAT(
      trip.scenario,
      Catch::Contains(
          "{tensor: 2, pipeline: 2, data: 2, micro_batch: 4, schedule: 1f1b, zero: 1, sequence_parallel: false}"));
  CHECK_THAT(trip.first, Catch::Contains("\"stage\": 1") && Catch::Contains("\"train_batch_size\": 32") &&
                             Catch::Contains("deepspeed --num_gpus 8 --num_nodes 1 pretrain_gpt.py"));
  CHECK_THAT(trip.first, Catch::Contains("--num-key-value-heads 4") && Catch::Contains("--normalization rmsnorm"));
  CHECK(trip.second == trip.first);
  CHECK(plan_of(folder.file("train.yaml")) == plan_of(folder.file("again.yaml")));
}

TEST_CASE("a planner's result is exported with its scenario") {
  const TemporaryFolder folder;
  const std::string scenario = folder.file("small.yaml", kSmall);
  const Ended run = trainyard_program("run " + scenario + " --strategies megatron --format json --quiet --out " +
                                      folder.file("result.json"));
  REQUIRE(run.status == 0);
  const Ended out =
      trainyard_program("export " + folder.file("result.json") + " --scenario " + scenario + " --for megatron");
  INFO(out.err);
  CHECK(out.status == 0);
  CHECK_THAT(out.out, Catch::Contains("torchrun --nproc-per-node 8 --nnodes 1 pretrain_gpt.py") &&
                          Catch::Contains("--swiglu") && Catch::Contains("--hidden-size 4096"));
}
