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
/// (deepseek, gpt_oss, kimi, qwen, as they stood in 2025-11, 2026-01, 2026-03 and 2026-08: moe_flex_dispatcher_backend, moe_a2a_overlap,
/// cutedsl_fused_grouped_mlp, recompute_modules, cuda_graph_impl and its scope) and the notes of release 0.5.1. HybridEP sorts tokens in a
/// kernel of its own unless told otherwise (DeepEP, Hybrid-EP implementation guide §7.2), so that no recipe has `fused_permute`.
struct ExpertRecipe {
  bool sends_once = false, fused_experts = false, overlap = false;
  bool eager = false;          ///< graphs of nothing, or of the router alone
  std::string recomputed = ""; ///< parts that are computed again
};

struct Recipe {
  Recipe(const CsvRow& row, const TrainingRun& run, const std::string& gpu, const std::string& model)
      : run_(run), release_(release_of(row)), hopper_(gpu.starts_with("H")), rack_(gpu.starts_with("GB")), b200_(gpu.starts_with("B200")),
        gb300_(gpu.starts_with("GB300")), gb200_(gpu.starts_with("GB200")), deepseek_(model == "deepseek-v3"), kimi_(model == "kimi-k2"),
        gpt_oss_(model.starts_with("gpt-oss")), small_qwen_(model == "qwen3-30b-a3b"), large_qwen_(model == "qwen3-235b-a22b") {}

  [[nodiscard]] ExpertRecipe experts() const {
    const bool fp8 = run_.precision == "fp8";
    const bool all_to_all = (large_qwen_ && !rack_ && release_ < 26.06) || (gpt_oss_ && !whole() && !sends_gpt_oss_once());
    return {.sends_once = !all_to_all && (release_ >= 26.02 || (hopper_ && deepseek_)),
            .fused_experts = whole(),
            .overlap = (whole() && fp8 && !small_qwen_) || (hopper_ && (deepseek_ || large_qwen_)) ||
                       (deepseek_ && run_.chunks > 1 && b200_) || (gpt_oss_ && gb200_ && release_ >= 26.04),
            .eager = !whole() && eager(),
            .recomputed = recomputed()};
  }

 private:
  /// Fused kernels and graphs of whole iterations, on Blackwell in MXFP8 and NVFP4.
  [[nodiscard]] bool whole() const {
    return release_ >= 26.06 && !hopper_ && run_.precision != "bf16" && (deepseek_ || small_qwen_ || large_qwen_ || gpt_oss_);
  }
  [[nodiscard]] bool sends_gpt_oss_once() const {
    return (gb200_ && release_ >= 26.04) || (!rack_ && !hopper_ && run_.expert == 8 && release_ >= 26.02);
  }
  [[nodiscard]] bool eager() const {
    if (gpt_oss_) return !gb300_ && (hopper_ || gb200_ || b200_);
    if (large_qwen_) return !rack_ && release_ < 26.06;
    if (small_qwen_) return release_ > 25.1;  // before, tokens beyond a fixed number were dropped and all was recorded
    if (deepseek_) return run_.precision != "bf16" && !(b200_ && run_.chunks > 1);
    return kimi_;
  }
  [[nodiscard]] std::string recomputed() const {
    if (gpt_oss_) return !whole() && (hopper_ || gb200_ || b200_) ? "norms, expert_activation" : "";
    if (kimi_) return "latent";
    if (!deepseek_ || whole()) return "";
    if (gb300_ && run_.precision == "bf16") return "mlp, expert_activation";
    return hopper_ || (b200_ && run_.chunks > 1) ? "latent, mlp" : "latent";
  }

  const TrainingRun& run_;
  double release_;
  bool hopper_, rack_, b200_, gb300_, gb200_, deepseek_, kimi_, gpt_oss_, small_qwen_, large_qwen_;
};

std::string expert_software(const ExpertRecipe& recipe) {
  std::string text = fmt::format("{{preset: megatron-bridge-2026, deduplicates_dispatch: {}, fused_experts: {}, overlap_expert: {}", recipe.sends_once,
                                 recipe.fused_experts, recipe.overlap);
  if (recipe.eager) text += ", cuda_graphs: false, eager_host: true";
  if (!recipe.recomputed.empty()) text += fmt::format(", selective: [{}]", recipe.recomputed);
  return text + "}";
}

void set_expert_recipe(const ExpertRecipe& recipe, TrainingRun& run) {
  run.software = expert_software(recipe);
  if (!recipe.recomputed.empty()) run.recompute = "selective";
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
  run.software = "megatron-bridge-2026";
  if (run.expert > 1) set_expert_recipe(Recipe(row, run, into.gpu, model).experts(), run);
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
