// torchtitan's keys, of its TOML files and of `--section.key`. Names and defaults: pytorch/torchtitan
// torchtitan/config/job_config.py (commit 000204a); older names from its configuration files of 2024.
#include "sim/scenario/launch/torchtitan.hpp"

namespace trainyard::launch {
namespace {

using enum Takes;

std::vector<Argument> arguments() {
  return {
      {"model.name", "raw.name", word, "llama3", {{"llama3", "llama3"}, {"deepseek_v3", "deepseek_v3"}}},
      {"model.flavor",
       "workload.model",
       word,
       "",
       {{"8B", "llama-3-8b"},
        {"70B", "llama-3-70b"},
        {"405B", "llama-3-405b"},
        {"16B", "deepseek-v2-lite"},  // torchtitan/models/deepseek_v3/__init__.py: the sizes of these
        {"236B", "deepseek-v2"},
        {"671B", "deepseek-v3"}}},
      {"model.converters", "raw.converters", word},
      {"optimizer.name", "workload.optimizer", word, "adam", {{"AdamW", "adam"}, {"Adam", "adam"}}},
      {"training.seq_len", "workload.sequence_length", count, "2048"},
      {"training.local_batch_size", "raw.local_batch", count, "8"},
      {"training.batch_size", "raw.local_batch", count, "", {}, true},
      {"training.global_batch_size", "raw.global_batch", count, "-1"},
      {"training.mixed_precision_param", "raw.precision", word, "bf16", {{"bfloat16", "bf16"}, {"float32", "fp32"}}},
      {"training.max_norm", "raw.max_norm", number, "1.0"},
      {"training.enable_cpu_offload", "raw.offload", word, "false", {{"true", "true"}, {"false", "false"}}},
      {"parallelism.data_parallel_replicate_degree", "plan.data", count, "1"},
      {"training.data_parallel_replicate_degree", "plan.data", count, "", {}, true},
      {"parallelism.data_parallel_shard_degree", "raw.shard", count, "-1"},
      {"training.data_parallel_shard_degree", "raw.shard", count, "", {}, true},
      {"parallelism.fsdp_reshard_after_forward",
       "raw.reshard",
       word,
       "default",
       {{"default", "default"}, {"always", "always"}, {"never", "never"}}},
      {"parallelism.tensor_parallel_degree", "plan.tensor", count, "1"},
      {"training.tensor_parallel_degree", "plan.tensor", count, "", {}, true},
      {"parallelism.enable_async_tensor_parallel",
       "software.overlap_tensor",
       word,
       "false",
       {{"true", "true"}, {"false", "false"}}},
      {"parallelism.disable_loss_parallel",
       "software.gathers_logits",
       word,
       "false",
       {{"true", "true"}, {"false", "false"}}},
      {"parallelism.expert_parallel_degree", "raw.expert", count, "1"},
      {"parallelism.expert_tensor_parallel_degree", "raw.expert_tensor", count, "1"},
      {"parallelism.pipeline_parallel_degree", "plan.pipeline", count, "1"},
      {"experimental.pipeline_parallel_degree", "plan.pipeline", count, "", {}, true},
      {"parallelism.pipeline_parallel_schedule",
       "plan.schedule",
       word,
       "1f1b",
       {{"1F1B", "1f1b"}, {"GPipe", "gpipe"}, {"Interleaved1F1B", "interleaved"}, {"ZBVZeroBubble", "zb_v"}}},
      {"parallelism.pipeline_parallel_layers_per_stage", "raw.layers_per_stage"},
      {"parallelism.pipeline_parallel_microbatch_size", "raw.micro_batch", count, "1"},
      {"parallelism.context_parallel_degree", "plan.context", count, "1"},
      {"experimental.context_parallel_degree", "plan.context", count, "", {}, true},
      {"parallelism.context_parallel_rotate_method", "plan.context_kind", word, "gather", {{"allgather", "gather"}}},
      {"activation_checkpoint.mode",
       "raw.recompute",
       word,
       "selective",
       {{"none", "none"}, {"full", "full"}, {"selective", "selective"}}},
      {"activation_checkpoint.selective_ac_option", "raw.recompute_option", word, "2"}};
}

std::vector<Remark> remarks() {
  using enum Effect;
  return {
      {"model.vocab_size", refused, "the sizes of a flavor are its own; write the model in the scenario"},
      {"parallelism.pipeline_parallel_split_points", refused, "split points are not read: write `layers` in the Plan"},
      {"experimental.pipeline_parallel_split_points", refused, "split points are not read: write `layers` in the Plan"},
      {"parallelism.pipeline_parallel_schedule_csv", refused, "a schedule in a file is not read"},
      {"parallelism.module_fqns_per_model_part", refused, "parts by names are not read: write `layers` in the Plan"},
      {"optimizer.early_step_in_backward", refused,
       "updates inside the backward pass are not read: write `update: layer` in the Plan"},
      {"fault_tolerance.*", refused, "TorchFT is not simulated"},
      {"experimental.custom_*", refused, "modules in Python are not read"},
      {"mx.*", refused, "MX formats are not read"},
      {"parallelism.enable_compiled_autograd", not_simulated, "kernels are those of torch.compile of each block"},
      {"training.compile", not_simulated, "kernels are those of torch.compile of each block"},
      {"compile.*", not_simulated, "kernels are those of torch.compile of each block"},
      {"training.mixed_precision_reduce", none, ""},
      {"training.deterministic", not_simulated, "kernels run at full speed"},
      {"optimizer.implementation", not_simulated, "the optimizer is one fused kernel"},
      {"optimizer.fused", not_simulated, "the optimizer is one fused kernel"},
      {"float8.enable_fsdp_float8_all_gather", not_simulated, "weights are gathered in 16 bits"},
      {"float8.precompute_float8_dynamic_scale_for_fsdp", not_simulated, "scales cost nothing"},
      {"float8.force_recompute_fp8_weight_in_bwd", not_simulated, "casts of weights cost nothing"},
      {"float8.filter_fqns", not_simulated, "all products of the layers are fp8, the head is not"},
      {"float8.recipe_name", not_simulated, "scaling costs nothing"},
      {"float8.*", not_simulated, "products are fp8 and nothing else changes"},
      {"model.norm_type", not_simulated, "norms are one kernel"},
      {"model.*", none, ""},
      {"job.*", none, ""},
      {"profiling.*", none, ""},
      {"metrics.*", none, ""},
      {"optimizer.*", none, ""},
      {"lr_scheduler.*", none, ""},
      {"checkpoint.*", none, ""},
      {"comm.*", none, ""},
      {"memory_estimation.*", none, ""},
      {"validation.*", none, ""},
      {"activation_checkpoint.*", not_simulated, "none or full is simulated"},
      {"training.dataset*", none, ""},
      {"training.steps", none, ""},
      {"training.warmup_steps", none, ""},
      {"training.gc_*", none, ""},
      {"training.seed", none, ""}};
}

}  // namespace

const ArgumentTable& torchtitan_table() {
  static const ArgumentTable table{"torchtitan", arguments(), remarks()};
  return table;
}

}  // namespace trainyard::launch
