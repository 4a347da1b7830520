// SimuMax docs/b200: 8 B200, Megatron, nothing overlaps, fused cross-entropy; time and allocated memory.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

/// DeepSeek V2 and V3 with fewer layers: heads, latent attention and balanced routing as in the released models.
std::string sparse_model(const CsvRow& row) {
  return fmt::format("{{family: llama, layers: {}, hidden: {}, heads: {}, head_size: 192, rope_size: 64, value_size: 128, "
                     "query_latent: {}, key_value_latent: {}, ffn: {}, dense_layers: {}, experts: {}, experts_per_token: {}, "
                     "expert_ffn: {}, shared_ffn: {}, vocabulary: {}}}",
                     row.count("layers_trained"), row.count("hidden"), row.count("heads"), row.count("q_lora"), row.count("kv_lora"),
                     row.count("ffn"), row.count("dense_layers"), row.count("experts"), row.count("topk"), row.count("moe_ffn"),
                     row.count("shared_expert_ffn"), row.count("vocab"));
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = "B200-SXM-180GB";
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("iter_time_s");
  if (const auto memory = row.number("max_alloc_GiB")) into.peak_memory_bytes = *memory * 1024 * 1024 * 1024;
  TrainingRun run;
  run.site = nvidia_site(row["gpu"], into.gpus);
  run.gpus = into.gpus;
  run.layers = row.count("layers_trained");
  run.model = fmt::format("{{family: llama, layers: {}, hidden: {}, heads: {}, kv_heads: {}, ffn: {}, vocabulary: {}}}",
                          run.layers, row.count("hidden"), row.count("heads"), row.count("kv_heads"), row.count("ffn"),
                          row.count("vocab"));
  if (!row["experts"].empty()) run.model = sparse_model(row);
  run.expert = row.count_or("ep", 1);
  run.sequence_length = row.count("seq_len");
  run.global_batch = row.count("gbs");
  run.software =
      "{preset: megatron-core-2024, attention: cudnn, loss: fused_in_place, overlap_gradient_reduce: false, overlap_weight_gather: false, "
      "overlap_tensor: false}";
  run.tensor = row.count("tp");
  run.pipeline = row.count("pp");
  run.context = row.count("cp");
  run.chunks = row.count_or("vp", 1);
  run.micro_batch = row.count("mbs");
  run.zero = 1;
  set_run(into, run);
}

}  // namespace

Source simumax_source() {
  return {"simumax", {"layers_trained", "moe_ffn", "simumax_predicted_ms", "max_alloc_GiB"}, map};
}

}  // namespace trainyard
