// What `import` and `export` of launches refuse, word by word.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"

using namespace trainyard;

namespace {

const std::string kSizes =
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --max-position-embeddings 2048 --vocab-size 32000 "
    "--seq-length 2048 "
    "--micro-batch-size 1 --global-batch-size 16 --bf16";

struct Case {
  std::string arguments, message;
};

/// First line of what importing `torchrun .. pretrain_gpt.py ARGUMENTS` says, without the file and the place.
std::string complaint(const std::string& kind, const std::string& name, const std::string& text,
                      const std::string& options = "") {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program("import " + kind + " " + folder.file(name, text) + " " + options);
  CHECK(ended.status == 2);
  CHECK(ended.out.empty());
  const std::string line = ended.err.substr(0, ended.err.find('\n'));
  const std::size_t place = line.find(name);
  return place == std::string::npos ? line : line.substr(place + name.size());
}

std::string megatron(const std::string& arguments, const std::string& options = "") {
  return complaint("megatron-args", "t.sh", "torchrun --nproc_per_node 8 --nnodes 1 p.py \\\n" + arguments + "\n",
                   options);
}

std::string refusal(const std::string& strategies, const std::string& framework, const std::string& cluster,
                    const std::string& workload) {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program(
      "export " +
      folder.file("t.yaml", "cluster: " + cluster + "\nworkload: " + workload + "\nstrategies: " + strategies + "\n") +
      " --for " + framework);
  CHECK(ended.status == 2);
  CHECK(ended.out.empty());
  return ended.err.substr(ended.err.find("t.yaml") + 6);
}

const std::string kOneNode = "{nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8}]}";
const std::string kTwoKinds =
    "{nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 4, nics: 4, nic: 200 Gbps}, {name: v, gpu: V100-SXM2-32GB, "
    "gpus_per_node: 4, nics: 4, nic: 200 Gbps}]}";
const std::string kGpt2 =
    "{model: gpt2-xl, sequence_length: 1024, global_batch: 16, precision: fp16, software: megatron-core-2024}";

}  // namespace

TEST_CASE("arguments that Megatron-LM does not have, or that are not simulated") {
  const std::vector<Case> cases{
      {kSizes + " --tensor-model-paralel-size 2",
       ":2:180: no argument of Megatron-LM \"--tensor-model-paralel-size\"; did you mean "
       "\"--tensor-model-parallel-size\"?"},
      {kSizes + " --moe-layer-recompute", ":2:180: --moe-layer-recompute: recompute of experts alone is not read: write `rules` in the Plan"},
      {kSizes + " --num-experts 8 --moe-layer-freq 2",
       ":2:196: --moe-layer-freq: only dense layers at the beginning, or the last of every n layers with experts, are simulated"},
      {kSizes + " --num-experts 8 --moe-layer-freq [1]*31", ":2:196: --moe-layer-freq says 31 layers, --num-layers 32"},
      {kSizes + " --num-experts 8 --moe-layer-freq [1]*32+", ":2:196: --moe-layer-freq: expected a number or a list such as ([0]*3+[1]*58), got \"[1]*32+\""},
      {kSizes + " --num-experts 8 --moe-layer-freq [2]*32", ":2:196: --moe-layer-freq: expected a number or a list such as ([0]*3+[1]*58), got \"[2]*32\""},
      {kSizes + " --num-experts 8 --moe-layer-freq 0", ":2:196: --moe-layer-freq: expected a number or a list such as ([0]*3+[1]*58), got \"0\""},
      {kSizes + " --num-experts 8 --moe-enable-deepep", ":2:196: --moe-enable-deepep needs --moe-token-dispatcher-type flex"},
      {kSizes + " --num-experts 8 --moe-router-num-groups 4", ":2:196: --moe-router-num-groups and --moe-router-group-topk need each other"},
      {kSizes + " --num-experts 8 --tensor-model-parallel-size 2 --expert-tensor-parallel-size 1",
       ":2:227: --expert-tensor-parallel-size 1 with --expert-model-parallel-size 1 beside a tensor axis is not simulated"},
      {kSizes + " --expert-model-parallel-size 0 --num-experts 8", ":2:180: ranks of experts: at least 1"},
      {kSizes + " --batch-size 8",
       ":2:180: --batch-size: no longer an argument of Megatron-LM; use --micro-batch-size"},
      {kSizes + " --fp8-format hybird", ":2:193: --fp8-format: no value \"hybird\"; did you mean \"hybrid\"?"},
      {kSizes + " --tensor-model-parallel-size two",
       ":2:209: --tensor-model-parallel-size: expected a whole number, got \"two\""},
      {kSizes + " --tensor-model-parallel-size", ":2:180: --tensor-model-parallel-size needs a value"},
      {kSizes + " --sequence-parallel yes", ":2:200: --sequence-parallel takes no value, got \"yes\" too"},
      {kSizes + " --fp16", ":2:173: --fp16 and --bf16 exclude each other"},
      {kSizes + " --recompute-granularity full", ":2:180: --recompute-granularity full needs --recompute-method"},
      {kSizes + " --tensor-model-parallel-size $TP", ":2:209: TP has no value in this file"},
      {kSizes + " $MORE", ":2:180: MORE has no value in this file"},
  };
  for (const Case& it : cases) {
    INFO(it.arguments);
    CHECK(megatron(it.arguments) == it.message);
  }
}

TEST_CASE("sizes that are missing or do not divide") {
  CHECK(megatron("--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000 --seq-length 2048") ==
        ":1:1: --micro-batch-size is missing");
  CHECK(
      megatron("--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --micro-batch-size 1 --seq-length 2048") ==
      ":1:1: --vocab-size is missing: the tokenizer's file is not read; give the vocabulary with --vocabulary");
  CHECK(megatron(kSizes + " --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16") ==
        ":2:180: --tensor-model-parallel-size 8 x --context-parallel-size 1 x --pipeline-model-parallel-size 16 do not "
        "divide the 8 GPUs of 1 nodes x 8");
  CHECK(megatron(kSizes + " --pipeline-model-parallel-size 3", "--nodes 3 --gpus-per-node 1") ==
        ":2:1: --num-layers 32 do not divide over --pipeline-model-parallel-size 3");
  CHECK(megatron(kSizes + " --micro-batch-size 3") ==
        ":2:150: --global-batch-size 16 is no multiple of --micro-batch-size 3 x 8 data ranks");
  CHECK(megatron(kSizes + " --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3") ==
        ":2:213: 32 layers in 2 stages do not divide into chunks of 3");
  CHECK(complaint("megatron-args", "t.sh", kSizes + "\n") ==
        ":1:1: no launcher says how many GPUs there are: give --gpus-per-node and --nodes");
}

TEST_CASE("scripts that cannot be read without running them") {
  CHECK(complaint("megatron-args", "t.sh",
                  "if [ $A = 1 ]; then\nX=\"--fp16\"\nfi\ntorchrun --nproc_per_node 8 p.py " + kSizes + " $X\n") ==
        ":4:213: X is set inside a condition or a loop (line 2), which is not read; print the command with `echo` and "
        "import that");
  CHECK(complaint("megatron-args", "t.sh", "ls\n") ==
        ":1:1: no launch line (torchrun, deepspeed, srun or python with a FILE.py) and no line of arguments");
  CHECK(complaint("megatron-args", "t.sh", "torchrun --nproc_per_node 8 p.py --num-layers \"32\n") ==
        ":1:48: a quote is never closed");
}

TEST_CASE("torchtitan and DeepSpeed name what they do not read") {
  CHECK(complaint(
            "torchtitan-args", "t.toml",
            "[model]\nflavor = \"8B\"\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n",
            "--nodes 1 --gpus-per-node 8") ==
        ":4:1: activation_checkpoint.mode: selective by \"op\" is not simulated; none and full are");
  CHECK(complaint("torchtitan-args", "t.toml", "[parallelism]\ntensor_paralel_degree = 2\n",
                  "--nodes 1 --gpus-per-node 8") ==
        ":2:1: no argument of torchtitan \"parallelism.tensor_paralel_degree\"; did you mean "
        "\"parallelism.tensor_parallel_degree\"?");
  CHECK(complaint("torchtitan-args", "t.toml", "[model]\nflavor = \"16B\"\n[activation_checkpoint]\nmode = \"full\"\n", "--nodes 1 --gpus-per-node 8") ==
        ":2:1: model.flavor of llama3: 8B, 70B or 405B");
  CHECK(complaint("torchtitan-args", "t.toml",
                  "[model]\nflavor = \"8B\"\n[parallelism]\nexpert_parallel_degree = 8\n[activation_checkpoint]\nmode = \"full\"\n", "--nodes 1 --gpus-per-node 8") ==
        ":4:1: parallelism.expert_parallel_degree: the model has no experts");
  CHECK(complaint("torchtitan-args", "t.toml", "[model\n") ==
        ":1:7: Error while parsing table header: expected ']', saw '\\n'");
  const std::string config = "cat > c.json <<E\n{\"train_batch_size\": 16, \"zero_optimization\": {\"stage\": 2}}\nE\n";
  CHECK(complaint("deepspeed-args", "t.sh",
                  config + "deepspeed --num_gpus 8 p.py --deepspeed_config c.json --pipeline-model-parallel-size 2 " +
                      kSizes + "\n") == "c.json:1:48: DeepSpeed's pipeline goes with zero_optimization.stage 0 or 1");
}

TEST_CASE("what a framework cannot express is refused in one line, by name") {
  const std::string mixed =
      "[{fixed: {stages: [{devices: a.0, layers: [embedding, 0-27], layout: [data: 4]}, {devices: v.0, layers: [28-47, "
      "head], layout: [data: 4]}]}}]";
  CHECK(refusal(mixed, "megatron", kTwoKinds, kGpt2) ==
        ": Megatron-LM cannot express this Plan: mixed GPUs (A100-SXM4-80GB, V100-SXM2-32GB)\n");
  const std::string unequal =
      "[{fixed: {pipelines: [{batch: 8, stages: [{devices: a.0.0-3}]}, {batch: 8, stages: [{devices: a.0.4-5, layers: "
      "[embedding, 0-20]}, {devices: a.0.6-7, layers: [21-47, head]}]}]}}]";
  CHECK(refusal(unequal, "megatron", kOneNode, kGpt2) ==
        ": Megatron-LM cannot express this Plan: 2 pipelines that differ in depth, devices or batch\n");
  CHECK(refusal("[{fixed: {pipeline: 2, data: 4, schedule: gpipe}}]", "megatron", kOneNode, kGpt2) ==
        ": Megatron-LM cannot express this Plan: schedule gpipe\n");
  CHECK(refusal("[{fixed: {shard: 8}}]", "megatron", kOneNode, kGpt2) ==
        ": Megatron-LM cannot express this Plan: a `shard` axis\n");
  CHECK(refusal("[{fixed: {data: 8, expert: 8}}]", "deepspeed", kOneNode,
                "{model: mixtral-8x7b, sequence_length: 1024, global_batch: 16, precision: bf16, software: megatron-core-2024}") ==
        ": DeepSpeed cannot express this Plan: experts: 8\n");
  CHECK(refusal("[{fixed: {data: 8}}]", "torchtitan", kOneNode, kGpt2) ==
        ": torchtitan cannot express this Plan: a model other than Llama 3 8B, 70B or 405B and DeepSeek-V2 and V3\n");
  CHECK(refusal("[{fixed: {pipeline: 2, chunks: 2, schedule: interleaved, data: 4}}]", "deepspeed", kOneNode, kGpt2) ==
        ": DeepSpeed cannot express this Plan: schedule interleaved\n");
  CHECK(refusal("[{fixed: {pipeline: 4, data: 2, layers: [11, 13, 11, 13]}}]", "megatron", kOneNode, kGpt2) ==
        ": Megatron-LM cannot express this Plan: stages of [11, 13, 11, 13] layers\n");
  CHECK(refusal("[{fixed: {data: 4, devices: a.0.0-3}}]", "megatron", kOneNode, kGpt2) ==
        ": Megatron-LM cannot express this Plan: 4 of the cluster's 8 GPUs stay out\n");
  CHECK(
      refusal("[megatron]", "megatron", kOneNode, kGpt2) ==
      ": export wants one strategy `fixed`, there are 0; or export a result of `run --format json` with --scenario\n");
}
