// Aleph Alpha (arXiv:2311.05610): LLaMA 13B-65B on A100-80, every layout. Eager norms, rotary embedding and SwiGLU;
// ZeRO-1.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// The vocabulary, 128,000, follows from the printed MFU. Eight NICs of 200 Gb/s a node are assumed.
std::string software(const CsvRow& row) {
  const std::string& kernel = row["kernel"];
  const char* attention = kernel.starts_with("flash_attention2")  ? "flash_2"
                          : kernel.starts_with("flash_attention") ? "flash_1"
                          : kernel == "fused"                     ? "fused_softmax"
                                                                  : "unfused";
  const bool fused_norm = kernel.find("RMS") != std::string::npos;
  return fmt::format("{{preset: alephalpha-2024, attention: {}, fused_norm: {}}}", attention, fused_norm);
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = "A100-SXM4-80GB";
  into.model = row["model"];
  into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("step_time_s");
  if (row.is("status", "OOM Error")) into.out_of_memory = true;
  if (row.is("status", "ok")) into.out_of_memory = false;
  if (!into.out_of_memory) throw Unmapped(fmt::format("the run ended with: {}", row["status"]));
  TrainingRun run;
  run.site = {.gpu = into.gpu};
  run.gpus = into.gpus;
  run.layers = row.count("n_layers");
  run.model = fmt::format("{{family: llama, layers: {}, hidden: {}, heads: {}, ffn: {}, vocabulary: 128000}}",
                          run.layers, row.count("d_model"), row.count("n_heads"), row.count("d_ffn"));
  run.sequence_length = row.count("seq_len");
  run.global_batch = row.count("gbs");
  run.software = software(row);
  run.tensor = row.count("tp");
  run.pipeline = row.count("pp");
  run.micro_batch = row.count("mbs");
  run.zero = 1;
  run.recompute = row.is("act_ckpt", "every_layer") ? "full" : "none";
  if (run.tensor > 1) run.sequence_parallel = row.is("sequence_parallel", "1") ? "true" : "false";
  set_run(into, run);
}

}  // namespace

Source alephalpha_source() {
  return {"alephalpha", {"sweep", "d_ffn", "act_ckpt", "kernel", "trial_id", "step_time_s"}, map};
}

}  // namespace trainyard
