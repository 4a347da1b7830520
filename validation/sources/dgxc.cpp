// NVIDIA DGX Cloud benchmarking recipes: step times on 8 to 2,304 H100 and on GB200; also proxies with fewer layers.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

/// NVIDIA/dgxc-benchmarking, deepseek_v3/pretraining/launch.sh (25.05): recompute of `mla_up_proj` on H100, of `core_attn` on GB200, where the
/// library of that container (25.04, cuDNN 9.8) had no fused backward pass for heads of 192 and 128 (Transformer Engine, fused_attn.cpp: from
/// cuDNN 9.11 on), so that attention ran as products and a softmax. No graphs. NeMo, scripts/performance/llm/pretrain_deepseek_v3.py: one
/// layer less in the first stage, two in the last.
void set_deepseek_recipe(bool hopper, TrainingRun& run) {
  run.stage_layers = layers_of_64(run, true);
  run.recompute = "selective";
  run.software = fmt::format("{{preset: nemo-2024, cuda_graphs: false, eager_host: true, {}}}",
                             hopper ? "selective: [latent]" : "attention: fused_softmax");
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = nvidia_gpu(row["gpu"]);
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("step_time_s");
  into.group = nvidia_group(into.gpu, into.model);
  refuse_other_workloads(into.model);
  into.group = nvidia_group(into.gpu, published_model(into.model).name);
  if (row["tp"].empty() && row["fsdp"].empty()) throw Unmapped("the layout is not printed");
  // Only proxies have fewer layers: the 32 printed beside Llama 4 Maverick do not divide over its 2 x 12 chunks, its 48 do.
  const int layers = row.has("note", "proxy") ? row.count_or("layers", 0) : 0;
  TrainingRun run = nvidia_run(row, row["gpu"], into.model, into.gpus, layers);
  if (published_model(into.model).name == "deepseek-v3") set_deepseek_recipe(into.gpu.starts_with("H"), run);
  if (published_model(into.model).name == "nemotron-4-340b" && run.pipeline > 1 && run.chunks == 1)
    run.chunks = 12;  // printed by the other releases of the same recipe
  if (run.expert > 1) run.expert_tensor = row.count_or("etp", run.tensor);
  run.precision = nvidia_precision(row["precision"]);
  // NeMo, recipes of Llama 3 8B in performance mode: dim 8, target_modules [linear_qkv].
  if (row.is("task", "lora")) run.method = "{lora: {rank: 8, targets: [qkv]}}";
  set_run(into, run);
}

}  // namespace

Source dgxc_source() { return {"dgxc", {"recipe_release", "also_in", "framework", "step_time_s", "samples_s"}, map}; }

}  // namespace trainyard
