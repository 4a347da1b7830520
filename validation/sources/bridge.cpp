// Megatron-Bridge performance summary, NeMo 25.09 to 26.08. Rows whose tokens/s are rounded keep the time that follows
// from them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

/// 26.04 of "NeMo 26.04.01".
double release_of(const CsvRow& row) {
  const std::string text = row["release"];
  return std::stod(text.substr(text.find(' ') + 1));
}

/// What a recipe for a mixture of experts switches on, of which the table prints nothing: Megatron-Bridge, scripts/performance/configs
/// (deepseek, qwen, gpt_oss; moe_flex_dispatcher_backend, moe_a2a_overlap, cutedsl_fused_grouped_mlp) and the notes of release 0.5.1.
struct ExpertRecipe {
  bool sends_once = false, fused_permute = false, fused_experts = false, overlap = false;
};

ExpertRecipe expert_recipe(const CsvRow& row, const TrainingRun& run, const std::string& gpu, const std::string& model) {
  const bool hopper = gpu.starts_with("H"), rack = gpu.starts_with("GB"), qwen = model.starts_with("qwen3");
  const bool deepseek = model == "deepseek-v3", large_qwen = model == "qwen3-235b-a22b";
  const double release = release_of(row);
  ExpertRecipe recipe;
  const bool all_to_all = large_qwen && !rack && release < 26.06;
  recipe.fused_permute = release >= 26.02 && !all_to_all && !(deepseek && !rack && run.expert > 8);
  recipe.sends_once = !all_to_all && (release >= 26.02 || (hopper && deepseek));
  // Fused kernels and graphs of whole iterations, on Blackwell in MXFP8 and NVFP4
  const bool whole = release >= 26.06 && !hopper && run.precision != "bf16" && (deepseek || qwen || model.starts_with("gpt-oss"));
  recipe.fused_experts = whole;
  recipe.overlap = (whole && run.precision == "fp8" && model != "qwen3-30b-a3b") || (hopper && (deepseek || large_qwen)) ||
                   (deepseek && run.chunks > 1 && gpu.starts_with("B200"));
  return recipe;
}

std::string expert_software(const ExpertRecipe& recipe) {
  return fmt::format("{{preset: megatron-bridge-2026, deduplicates_dispatch: {}, fused_permute: {}, fused_experts: {}, overlap_expert: {}}}",
                     recipe.sends_once, recipe.fused_permute, recipe.fused_experts, recipe.overlap);
}

/// DeepSeek-V3's recipes train one prediction layer unless the table says "w/o MTP"; layers by `pp_layout`: "Et*4|(t*4|)*14tmL".
void set_layers(const CsvRow& row, const std::string& model, TrainingRun& run) {
  if (model == "deepseek-v3" && !row.has("model", "w/o MTP")) run.model.insert(run.model.find("}"), ", prediction_layers: 1");
  if (model == "deepseek-v3" || model == "kimi-k2") run.stage_layers = layers_of_64(run, false);
}

/// The recipe of Nemotron 3 Nano on H100 computes the experts, norms and attention's scores again (recompute_modules of
/// scripts/performance/configs/nemotronh); here whole layers of experts, and scores. `E` of the pattern are the layers of experts.
std::string plan_that_recomputes_experts(const TrainingRun& run) {
  const std::size_t at = run.model.find("pattern: \"") + 10;
  std::vector<int> layers;
  for (std::size_t i = at; run.model[i] != '"'; ++i)
    if (run.model[i] == 'E') layers.push_back(int(i - at));
  return fmt::format(
      "{{devices: gpu.0-{}, batch: {}, micro_batches: {}, zero: 1, recompute: selective, layout: [data: {}], rules: [{{ops: experts, layout: "
      "[data: {}, expert: {}]}}, {{layers: [{}], recompute: full}}]}}",
      run.gpus / run.site.gpus_per_node - 1, run.global_batch, run.global_batch / run.gpus / run.micro_batch, run.gpus,
      run.gpus / run.expert, run.expert, fmt::join(layers, ", "));
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = nvidia_gpu(row["gpu"]);
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("iter_time_s_derived");
  into.group = nvidia_group(into.gpu, into.model);
  refuse_other_workloads(into.model);
  into.group = nvidia_group(into.gpu, published_model(into.model).name);
  TrainingRun run = nvidia_run(row, row["gpu"], into.model, into.gpus, 0);
  run.precision = nvidia_precision(row["precision"]);
  const std::string model = published_model(into.model).name;
  run.software = run.expert > 1 ? expert_software(expert_recipe(row, run, into.gpu, model)) : "megatron-bridge-2026";
  set_layers(row, model, run);
  run.expert_tensor = 1;  // as its recipes set it
  // Megatron-Bridge, scripts/performance and recipes of Llama 3 70B: dim 16, target_modules [linear_qkv].
  if (row.is("task", "lora")) run.method = "{lora: {rank: 16, targets: [qkv]}}";
  set_run(into, run);
  if (model == "nemotron-3-nano" && row.has("gpu", "H100")) into.plan = plan_that_recomputes_experts(run);
}

}  // namespace

Source bridge_source() { return {"bridge", {"release", "system", "dp_derived", "tok_rounded", "on_head"}, map}; }

}  // namespace trainyard
