// torchtitan and NeMo AutoModel: PyTorch FSDP2, tensor, pipeline and context axes.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// A pipeline cuts the local batch into as many micro-batches as it has stages, as torchtitan does by default.
std::string recompute_of(const CsvRow& row) {
  if (row.is("ac", "full")) return "full";
  return row.has("ac", "elective") || row.has("ac", "SAC") ? "selective" : "none";
}

/// NeMo AutoModel, examples/llm_benchmark: dim 16 on every *_proj; the models cut over two GPUs with activation checkpointing, Llama
/// with sequence parallelism, Qwen without.
void set_lora(const CsvRow& row, TrainingRun& run) {
  run.method = "{lora: {rank: 16}}";
  if (run.tensor == 1) return;
  run.recompute = "full";
  run.sequence_parallel = row.has("model", "Llama") ? "true" : "false";
}

/// What a recipe of NeMo AutoModel for a mixture of experts says beside its table: examples/benchmark/configs/*_te_deepep*.yaml
/// (activation_checkpointing, reshard_after_forward, ep_size, enable_fsdp_optimizations, attn) and components/moe/parallelizer.py and
/// fsdp_mixin.py (checkpoints of whole blocks; in a pipeline nothing is scattered before the last micro-batch, elsewhere on request;
/// weights stay gathered between the passes unless told otherwise). Exchanges are DeepEP's.
struct ExpertRecipe {
  const char* model;
  int expert;                ///< ranks, where the table prints none
  bool recomputes, accumulates, keeps_gathered;
  const char* attention;
};
constexpr ExpertRecipe kExpertRecipes[] = {{"DeepSeek", 0, true, false, false, "cudnn"},
                                           {"Kimi", 0, true, false, false, "cudnn"},
                                           {"Qwen3", 0, true, true, true, "cudnn"},
                                           {"GPT-OSS 20B", 8, false, false, true, "flash_2"},
                                           {"GPT-OSS 120B", 64, false, false, false, "flash_2"}};

void set_expert_recipe(const CsvRow& row, TrainingRun& run) {
  for (const ExpertRecipe& recipe : kExpertRecipes) {
    if (!row.has("model", recipe.model)) continue;
    if (recipe.expert > 0) run.expert = recipe.expert;
    if (recipe.recomputes) run.recompute = "full";
    run.keeps_gathered = recipe.keeps_gathered;
    run.software = fmt::format("{{preset: torchtitan-2024, deduplicates_dispatch: true, accumulates_whole: {}, attention: {}}}", recipe.accumulates,
                               recipe.attention);
    return;
  }
  throw Unmapped("a recipe for experts that is not known here");
}

/// torchtitan compiles blocks where its tables say so, else norms, rotary positions and activations are eager; its asynchronous tensor
/// parallelism moves parts that are in order; since 2025 its loss is compiled too and keeps as little as Megatron's (memory.md §4). The kernels of AutoModel are Transformer Engine's.
std::string software_of(const CsvRow& row) {
  const bool torchtitan = row.is("source_set", "torchtitan");
  const char* eager = torchtitan && !row.has("kernels", "compile") ? ", fused_norm: false, fused_rope: false, fused_activation: false" : "";
  const char* parts = row.has("kernels", "sync") ? ", copies_gathers: false" : "";
  const char* scaling = row.has("kernels", "rowwise") ? ", operand_scaling: rowwise" : "";
  const char* loss = torchtitan && row.has("kernels", "compile") && row.has("source", "_2025") ? ", loss: vocab_parallel" : "";
  return fmt::format("{{preset: torchtitan-2024, overlap_tensor: {}{}{}{}{}{}}}", row.has("kernels", "sync"), parts, scaling, eager, loss,
                     torchtitan ? "" : ", attention: cudnn");
}

void map(const CsvRow& row, Measurement& into) {
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("step_time_s");
  if (const auto memory = row.number("mem_GiB")) into.peak_memory_bytes = *memory * 1024 * 1024 * 1024;
  into.gpu = nvidia_gpu(row["gpu"]);
  refuse_other_workloads(into.model);
  into.group = fmt::format("pytorch/{}/{}", into.gpu, published_model(into.model).name);
  TrainingRun run = nvidia_run(row, row["gpu"], into.model, into.gpus, 0);
  run.software = software_of(row);
  run.precision = row.has("precision", "float8") ? "fp8" : "bf16";
  run.ends_count_as_layers = false;
  if (run.pipeline > 1 && row.is("vp", "yes")) run.chunks = 2;
  const int local = row.count_or("lbs", 1);
  run.micro_batch = row.count_or("mbs", std::max(1, local / (run.pipeline > 1 ? run.pipeline * run.chunks : 1)));
  run.recompute = recompute_of(row);
  if (row.is("task", "lora")) set_lora(row, run);
  if (row.has("kernels", "DeepEP")) set_expert_recipe(row, run);
  set_run(into, run);
}

}  // namespace

Source pytorch_source() { return {"pytorch", {"source_set", "lbs", "ac", "kernels", "mem_GiB", "step_time_s"}, map}; }

}  // namespace trainyard
