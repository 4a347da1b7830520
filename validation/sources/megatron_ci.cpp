// Megatron-LM functional tests: time and allocated memory of the last pipeline stage. Tiny models are bound by
// launches: memory only.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/nvidia.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// The vocabulary is not printed: 50,257 for hidden 512 (GPT-2 tokenizer), 131,072 for the 7B model.
std::string model_of(const CsvRow& row, int layers) {
  const bool gated = row.is("swiglu", "True");
  const int hidden = row.count("hidden");
  std::string text = fmt::format("{{layers: {}, hidden: {}, heads: {}, vocabulary: {}, tied: {}", layers, hidden,
                                 row.count("heads"), hidden == 512 ? 50257 : 131072, !row.is("untied", "True"));
  if (row.number("kv_groups")) text += fmt::format(", kv_heads: {}", row.count("kv_groups"));
  if (gated) text += fmt::format(", gated: true, ffn: {}", row.count_or("ffn", 4 * hidden));
  return text + fmt::format(", max_positions: {}}}", row["seq_len"]);
}

/// `mcore_tp..` in a name, for `mcore_te_tp..`: Megatron's own attention instead of Transformer Engine's.
std::string software(const CsvRow& row) {
  const char* attention = row.has("test_case", "_mcore_tp") ? "fused_softmax" : "flash_2";
  const char* loss = row.has("test_case", "cross_entropy_loss_fusion") ? "vocab_parallel_fused" : "vocab_parallel";
  return fmt::format(
      "{{preset: megatron-core-2024, attention: {}, loss: {}, dropout: true, sequence_parallel: {}, "
      "overlap_gradient_reduce: "
      "{}, overlap_weight_gather: {}, distributed_optimizer: {}}}",
      attention, loss, row.is("seq_par", "True"), row.is("overlap_grad", "True"), row.is("overlap_param", "True"),
      row.is("dist_opt", "True"));
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = nvidia_gpu(row["gpu"]);
  into.model = fmt::format("{} {} x {}", row["family"], row["layers"], row["hidden"]);
  into.gpus = row.count_or("n_gpus", 0);
  if (!row.is("tiny", "yes")) into.step_time_s = row.number("iter_time_s_median_tail");
  if (const auto memory = row.number("mem_max_allocated_GiB")) into.peak_memory_bytes = *memory * 1024 * 1024 * 1024;
  into.memory_kind = MemoryKind::last_stage;
  if (!row["experts"].empty() && !row.is("family", "nemotron")) throw Unmapped("mixture of experts on a number of GPUs that is not printed");
  if (!row.is("family", "gpt")) throw Unmapped(fmt::format("workload: {}", row["family"]));
  TrainingRun run;
  run.gpus = row.count("n_gpus");
  run.site = nvidia_site(row["gpu"], run.gpus);
  if (row.is("gpu", "GB200")) run.site.gpus_per_node = run.site.nics = 4;
  run.layers = row.count("layers");
  run.model = model_of(row, run.layers);
  run.sequence_length = row.count("seq_len");
  run.global_batch = row.count("gbs");
  run.precision = row["precision"];
  run.software = software(row);
  run.tensor = row.count("tp");
  run.pipeline = row.count("pp");
  run.context = row.count_or("cp", 1);
  if (const int chunk = row.count_or("vp_layers", 0); chunk > 0 && run.pipeline > 1)
    run.chunks = run.layers / (run.pipeline * chunk);
  run.micro_batch = row.count("mbs");
  if (row.is("fsdp", "True")) {
    run.shard = run.gpus / (run.tensor * run.pipeline * run.context);
    run.zero = 3;
  }
  if (!row["recompute"].empty()) run.recompute = row["recompute"];
  set_run(into, run);
}

}  // namespace

Source megatron_ci_source() {
  return {"golden", {"test_case", "platform", "vp_layers", "iter_time_s_median_tail", "tiny"}, map};
}

}  // namespace trainyard
