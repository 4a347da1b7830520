// SimuMax docs/b200: 8 B200, Megatron, nothing overlaps, fused cross-entropy; time and allocated memory.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

void map(const CsvRow& row, Measurement& into) {
  into.gpu = "B200-SXM-180GB";
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("iter_time_s");
  if (const auto memory = row.number("max_alloc_GiB")) into.peak_memory_bytes = *memory * 1024 * 1024 * 1024;
  if (!row["experts"].empty()) throw Unmapped("workload: mixture of experts");
  TrainingRun run;
  run.site = nvidia_site(row["gpu"], into.gpus);
  run.gpus = into.gpus;
  run.layers = row.count("layers_trained");
  run.model = fmt::format("{{family: llama, layers: {}, hidden: {}, heads: {}, kv_heads: {}, ffn: {}, vocabulary: {}}}",
                          run.layers, row.count("hidden"), row.count("heads"), row.count("kv_heads"), row.count("ffn"),
                          row.count("vocab"));
  run.sequence_length = row.count("seq_len");
  run.global_batch = row.count("gbs");
  run.software =
      "{preset: megatron-core-2024, attention: cudnn, overlap_gradient_reduce: false, overlap_weight_gather: false, "
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
