// Megatron-LM's arguments. Names, defaults and what they imply: NVIDIA/Megatron-LM megatron/training/arguments.py
// (commit 000c4ac).
#include "sim/scenario/launch/megatron.hpp"
#include "sim/scenario/launch/megatron_experts.hpp"

namespace trainyard::launch {
namespace {

using enum Takes;

std::vector<Argument> model_arguments() {
  return {{"--num-layers", "model.layers"},
          {"--hidden-size", "model.hidden"},
          {"--ffn-hidden-size", "model.ffn"},
          {"--num-attention-heads", "model.heads"},
          {"--group-query-attention", "raw.group_query", nothing, "false", {{"", "true"}}},
          {"--num-query-groups", "raw.query_groups"},
          {"--kv-channels", "model.head_size"},
          {"--max-position-embeddings", "model.max_positions"},
          {"--position-embedding-type",
           "model.positions",
           word,
           "learned",
           {{"learned_absolute", "learned"}, {"rope", "rotary"}}},
          {"--use-rotary-position-embeddings", "model.positions", nothing, "", {{"", "rotary"}}, true},
          {"--normalization", "model.norm", word, "layer", {{"LayerNorm", "layer"}, {"RMSNorm", "rms"}}},
          {"--swiglu", "model.gated", nothing, "false", {{"", "true"}}},
          {"--untie-embeddings-and-output-weights", "model.tied", nothing, "true", {{"", "false"}}},
          {"--disable-bias-linear", "raw.no_bias", nothing, "false", {{"", "true"}}},
          {"--add-qkv-bias", "raw.qkv_bias", nothing, "false", {{"", "true"}}},
          {"--qk-layernorm", "model.qk_norm", nothing, "false", {{"", "true"}}},
          {"--vocab-size", "model.vocabulary"}};
}

std::vector<Argument> training_arguments() {
  return {{"--seq-length", "workload.sequence_length"},
          {"--micro-batch-size", "plan.micro_batch"},
          {"--global-batch-size", "workload.global_batch"},
          {"--fp16", "raw.fp16", nothing, "false", {{"", "true"}}},
          {"--bf16", "raw.bf16", nothing, "false", {{"", "true"}}},
          {"--fp8-format", "raw.fp8", word, "", {{"hybrid", "hybrid"}, {"e4m3", "e4m3"}}},
          {"--fp4-format", "raw.fp4", word, "", {{"e2m1", "e2m1"}}},
          {"--optimizer", "workload.optimizer", word, "adam", {{"adam", "adam"}}},
          {"--clip-grad", "raw.clip", number, "1.0"},
          {"--attention-dropout", "raw.attention_dropout", number, "0.1"},
          {"--hidden-dropout", "raw.hidden_dropout", number, "0.1"}};
}

std::vector<Argument> layout_arguments() {
  return {{"--tensor-model-parallel-size", "plan.tensor", count, "1"},
          {"--pipeline-model-parallel-size", "plan.pipeline", count, "1"},
          {"--context-parallel-size", "plan.context", count, "1"},
          {"--cp-comm-type",
           "plan.context_kind",
           word,
           "ring",
           {{"p2p", "ring"}, {"all_gather", "gather"}, {"a2a", "ulysses"}}},
          {"--num-layers-per-virtual-pipeline-stage", "raw.layers_per_chunk"},
          {"--num-virtual-stages-per-pipeline-rank", "raw.chunks"},
          {"--decoder-first-pipeline-num-layers", "raw.first_layers"},
          {"--decoder-last-pipeline-num-layers", "raw.last_layers"},
          {"--account-for-embedding-in-pipeline-split", "raw.embedding_is_a_layer", nothing, "", {{"", "true"}}},
          {"--account-for-loss-in-pipeline-split", "raw.loss_is_a_layer", nothing, "", {{"", "true"}}},
          {"--use-tp-pp-dp-mapping", "plan.rank_order", nothing, "", {{"", "[tensor, context, pipeline, data]"}}},
          {"--sequence-parallel", "plan.sequence_parallel", nothing, "false", {{"", "true"}}},
          {"--use-distributed-optimizer", "plan.zero", nothing, "0", {{"", "1"}}},
          {"--optimizer-cpu-offload", "plan.home.optimizer", nothing, "device", {{"", "host"}}},
          {"--recompute-granularity", "raw.recompute", word, "", {{"selective", "selective"}, {"full", "full"}}},
          {"--recompute-activations", "raw.recompute", nothing, "", {{"", "selective"}}, true},
          {"--recompute-method", "raw.recompute_method", word, "", {{"uniform", "uniform"}, {"block", "block"}}},
          {"--recompute-num-layers", "raw.recompute_layers"},
          {"--recompute-modules", "raw.recompute_modules", word, "core_attn", {{"core_attn", "core_attn"}}}};
}

std::vector<Argument> switch_arguments() {
  return {
      {"--overlap-grad-reduce", "software.overlap_gradient_reduce", nothing, "false", {{"", "true"}}},
      {"--overlap-param-gather", "software.overlap_weight_gather", nothing, "false", {{"", "true"}}},
      {"--grad-reduce-in-bf16", "raw.reduce_in_bf16", nothing, "false", {{"", "true"}}},
      {"--accumulate-allreduce-grads-in-fp32", "raw.reduce_in_fp32", nothing, "false", {{"", "true"}}},
      {"--attention-backend",
       "software.attention",
       word,
       "flash_2",
       {{"flash", "flash_2"},
        {"auto", "flash_2"},
        {"fused", "cudnn"},
        {"unfused", "unfused"},
        {"local", "fused_softmax"}}},
      {"--use-flash-attn", "software.attention", nothing, "", {{"", "flash_2"}}, true},
      {"--transformer-impl",
       "raw.transformer",
       word,
       "transformer_engine",
       {{"transformer_engine", "transformer_engine"}, {"local", "local"}}},
      {"--no-gradient-accumulation-fusion", "raw.no_fused_accumulation", nothing, "false", {{"", "true"}}, true},
      {"--cross-entropy-loss-fusion", "software.loss", nothing, "vocab_parallel", {{"", "vocab_parallel_fused"}}},
      {"--no-rope-fusion", "software.fused_rope", nothing, "true", {{"", "false"}}},
      {"--no-bias-swiglu-fusion", "raw.plain_swiglu", nothing, "false", {{"", "true"}}},
      {"--no-bias-gelu-fusion", "raw.plain_gelu", nothing, "false", {{"", "true"}}},
      {"--no-scatter-gather-tensors-in-pipeline", "software.pipeline_scatter_gather", nothing, "true", {{"", "false"}}},
      {"--no-overlap-p2p-communication", "raw.no_overlap_pipeline", nothing, "false", {{"", "true"}}},
      {"--no-async-tensor-model-parallel-allreduce", "software.overlap_tensor", nothing, "true", {{"", "false"}}},
      {"--enable-cuda-graph", "software.cuda_graphs", nothing, "false", {{"", "true"}}},
      {"--external-cuda-graph", "software.cuda_graphs", nothing, "", {{"", "true"}}, true}};
}

std::vector<Remark> refusals() {
  using enum Effect;
  return {{"--hybrid-*", refused, "hybrid models are not simulated"},
          {"--heterogeneous-layers-*", refused, "layers of different shape are not read"},
          {"--spec", refused, "a model specification in Python is not read"},
          {"--encoder-*", refused, "encoders are not simulated"},
          {"--decoder-seq-length", refused, "encoders are not simulated"},
          {"--retro-*", refused, "retrieval is not simulated"},
          {"--window-size", refused, "sliding windows are not read: write the model with `window`"},
          {"--pipeline-model-parallel-layout", refused, "a layout string is not read: write `layers` in the Plan"},
          {"--use-megatron-fsdp", refused, "sharded weights of Megatron-LM are not read: write `shard` in the Plan"},
          {"--use-custom-fsdp", refused, "sharded weights of Megatron-LM are not read: write `shard` in the Plan"},
          {"--use-torch-fsdp2", refused, "sharded weights of Megatron-LM are not read: write `shard` in the Plan"},
          {"--data-parallel-sharding-strategy", refused,
           "sharded weights of Megatron-LM are not read: write `shard` in the Plan"},
          {"--num-distributed-optimizer-instances", refused,
           "an optimizer sharded over a part of the data axis is not simulated"},
          {"--hierarchical-context-parallel-sizes", refused, "a context axis of several levels is not simulated"},
          {"--*cpu-offloading*", refused, "offloaded activations and weights are not read: write `home` in the Plan"},
          {"--optimizer-offload-fraction", refused, "an optimizer on the host in part is not simulated"},
          {"--yaml-cfg", refused, "arguments in YAML are not read"},
          {"--use-checkpoint-args", refused, "what a checkpoint holds is not read"},
          {"--model-parallel-size", refused, "no longer an argument of Megatron-LM; use --tensor-model-parallel-size"},
          {"--batch-size", refused, "no longer an argument of Megatron-LM; use --micro-batch-size"},
          {"--checkpoint-activations", refused, "no longer an argument of Megatron-LM; use --recompute-granularity"},
          {"--perform-rl-step", refused, "reinforcement learning is not read"},
          {"--rl-*", refused, "reinforcement learning is not read"}};
}

std::vector<Remark> not_simulated() {
  using enum Effect;
  return {{"--rampup-batch-size", not_simulated, "every step has the whole global batch"},
          {"--make-vocab-size-divisible-by", not_simulated, "the vocabulary is padded to a multiple of 128"},
          {"--rotary-percent", not_simulated, "rotary positions turn the whole head"},
          {"--tp-comm-*", not_simulated, "collectives of the tensor axis already run beside products"},
          {"--fp8-param-gather", not_simulated, "weights are gathered in 16 bits"},
          {"--fp8-param", not_simulated, "weights are kept in 16 bits"},
          {"--fp4-param*", not_simulated, "weights are kept and gathered in 16 bits"},
          {"--fp32-residual-connection", not_simulated, "activations travel in the precision of the weights"},
          {"--fp16-lm-cross-entropy", not_simulated, "the loss is computed in fp32"},
          {"--distribute-saved-activations", not_simulated, "checkpoints stand whole on each rank"},
          {"--first-last-layers-bf16", not_simulated, "all layers have the same precision"},
          {"--num-layers-at-*-in-bf16", not_simulated, "all layers have the same precision"},
          {"--overlap-param-gather-with-optimizer-step", not_simulated, "the gather begins after the update"},
          {"--use-precision-aware-optimizer", not_simulated, "the optimizer's state is fp32"},
          {"--main-*-dtype", not_simulated, "gradients and the optimizer's state have the software's types"},
          {"--exp-avg*-dtype", not_simulated, "the optimizer's state is fp32"},
          {"--ddp-*", not_simulated, "buckets are the software's"},
          {"--microbatch-group-size-per-virtual-pipeline-stage", not_simulated,
           "groups are as large as the pipeline is deep"},
          {"--defer-embedding-wgrad-compute", not_simulated, "weight gradients are computed in place"},
          {"--delay-wgrad-compute", not_simulated, "weight gradients are computed in place"},
          {"--no-bias-dropout-fusion", not_simulated, "bias and dropout are one kernel"},
          {"--no-masked-softmax-fusion", not_simulated,
           "mask and softmax are one kernel unless --attention-backend is unfused"},
          {"--no-persist-layer-norm", not_simulated, "norms are one kernel"},
          {"--use-sharp", not_simulated, "collectives use what the fabric has"},
          {"--use-nccl-ub", not_simulated, "registered buffers make no difference"},
          {"--nccl-ub", not_simulated, "registered buffers make no difference"},
          {"--apply-query-key-layer-scaling", not_simulated, "scores are scaled in 16 bits"},
          {"--attention-softmax-in-fp32", not_simulated, "the softmax runs in the kernel's own type"},
          {"--calculate-per-token-loss", not_simulated, "the count of tokens is not reduced"},
          {"--deterministic-mode", not_simulated, "kernels run at full speed"},
          {"--use-mcore-models", none, ""},
          {"--use-legacy-models", not_simulated, "kernels are those of Megatron core"}};
}

std::vector<Remark> without_effect() {
  std::vector<Remark> all;
  for (const char* glob : {"--lr",
                           "--lr-*",
                           "--min-lr",
                           "--decoupled-*",
                           "--weight-decay*",
                           "--start-weight-decay",
                           "--end-weight-decay",
                           "--adam-*",
                           "--sgd-*",
                           "--train-iters",
                           "--train-samples",
                           "--*iters",
                           "--init-method-*",
                           "--embedding-init-*",
                           "--seed",
                           "--loss-scale",
                           "--initial-loss-scale",
                           "--min-loss-scale",
                           "--loss-scale-window",
                           "--hysteresis",
                           "--use-checkpoint-opt*",
                           "--override-opt*",
                           "--data-*",
                           "--train-data-path",
                           "--valid-data-path",
                           "--test-data-path",
                           "--mock-data",
                           "--split",
                           "--vocab-file",
                           "--merge-file",
                           "--vocab-extra-ids",
                           "--tokenizer-*",
                           "--tiktoken-*",
                           "--num-workers",
                           "--no-mmap-*",
                           "--no-create-*",
                           "--create-attention-mask-in-dataloader",
                           "--reset-*",
                           "--eod-mask-loss",
                           "--dataloader-type",
                           "--num-dataset-*",
                           "--save",
                           "--save-*",
                           "--load",
                           "--no-save-*",
                           "--no-load-*",
                           "--async-save",
                           "--ckpt-*",
                           "--dist-ckpt-*",
                           "--use-dist-ckpt",
                           "--finetune",
                           "--pretrained-checkpoint",
                           "--auto-detect-ckpt-format",
                           "--no-initialization",
                           "--exit-*",
                           "--non-persistent-*",
                           "--eval-*",
                           "--test-mode",
                           "--skip-train",
                           "--log-*",
                           "--no-log-*",
                           "--tensorboard-*",
                           "--wandb-*",
                           "--timing-*",
                           "--barrier-with-*",
                           "--no-barrier-*",
                           "--profile",
                           "--profile-*",
                           "--use-pytorch-profiler",
                           "--record-memory-*",
                           "--memory-*",
                           "--distributed-backend",
                           "--distributed-timeout-*",
                           "--local-rank",
                           "--local_rank",
                           "--lazy-mpu-init",
                           "--nccl-communicator-*",
                           "--manual-gc",
                           "--manual-gc-*",
                           "--no-manual-gc-*",
                           "--empty-unused-memory-level",
                           "--no-check-for-nan-*",
                           "--check-for-*",
                           "--rerun-*",
                           "--error-*",
                           "--squared-relu",
                           "--openai-gelu",
                           "--onnx-safe",
                           "--norm-epsilon",
                           "--apply-layernorm-1p",
                           "--layernorm-epsilon",
                           "--rotary-base",
                           "--rotary-seq-len-interpolation-factor",
                           "--rotary-interleaved",
                           "--use-rope-scaling",
                           "--rope-*",
                           "--no-position-embedding",
                           "--fp8-amax-*",
                           "--fp8-margin",
                           "--fp8-interval",
                           "--fp8-recipe",
                           "--no-fp8-wgrad",
                           "--fp4-recipe",
                           "--adlr-*",
                           "--use-one-logger",
                           "--one-logger-*",
                           "--enable-one-logger",
                           "--app-tag-*",
                           "--DDP-impl",
                           "--use-cpu-initialization",
                           "--no-async-*",
                           "--untested-*",
                           "--transformer-pipeline-*",
                           "--use-tokenizer-*",
                           "--legacy-tokenizer",
                           "--make-*",
                           "--no-query-key-layer-scaling",
                           "--cross-entropy-fusion-impl",
                           "--enable-ft-package",
                           "--disable-straggler-*",
                           "--log_*",
                           "--cuda-graph-*",
                           "--high-priority-stream-groups",
                           "--pipeline-model-parallel-comm-backend"})
    all.push_back({glob, Effect::none, ""});
  return all;
}

template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

const ArgumentTable& megatron_table() {
  static const ArgumentTable table = [] {
    ArgumentTable built{"Megatron-LM", model_arguments(), refusals()};
    append(built.arguments, training_arguments());
    append(built.arguments, layout_arguments());
    append(built.arguments, switch_arguments());
    append(built.arguments, expert_arguments());
    append(built.remarks, expert_remarks());
    append(built.remarks, not_simulated());
    append(built.remarks, without_effect());
    return built;
  }();
  return table;
}

}  // namespace trainyard::launch
