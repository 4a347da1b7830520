// BigScience chronicles: BLOOM sizing sweep on 384 A100-80 of Jean Zay, and older runs on V100. Megatron-DeepSpeed.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// Pipeline messages are not scattered there. Four Omni-Path cards of 100 Gb/s a node. Embedding and head take the place
// of a layer each where the layers do not divide otherwise.
Site site_of(const CsvRow& row) {
  if (row.has("gpu", "A100")) return {.gpu = "A100-SXM4-80GB", .nics = 4, .nic = "100 Gbps"};
  const char* gpu = row.has("gpu", "32GB") ? "V100-SXM2-32GB" : "V100-SXM2-16GB";
  return {.gpu = gpu, .gpus_per_node = 4, .nics = 4, .nic = "100 Gbps", .inside = "nvlink_mesh"};
}

/// Where it is not printed: the software's default. The V100 runs of 1.3 B hold less than 16 bytes a parameter.
int zero_of(const CsvRow& row) {
  return row.has("zero_stage", "3") ? 3 : static_cast<int>(row.number("zero_stage").value_or(-1));
}

void map(const CsvRow& row, Measurement& into) {
  TrainingRun run;
  run.site = site_of(row);
  into.gpu = run.site.gpu;
  into.model = row["model"];
  run.gpus = into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("sec_per_it");
  if (const auto memory = row.number("mem_GB")) into.peak_memory_bytes = *memory * 1e9;
  into.memory_kind = MemoryKind::device;
  into.out_of_memory = row.is("status", "OOM");
  run.layers = row.count("n_layers");
  const bool bloom = row.is("vocab", "250k");
  run.model = fmt::format("{{layers: {}, hidden: {}, heads: {}, vocabulary: {}, max_positions: {}}}", run.layers,
                          row.count("d_model"), row.count("n_heads"), bloom ? "250880" : row["vocab"], row["seq_len"]);
  run.sequence_length = row.count("seq_len");
  run.global_batch = row.count("gbs");
  run.precision = row["precision"].substr(0, 4);
  run.software = "{preset: deepspeed-2022, pipeline_scatter_gather: false}";
  run.tensor = row.count_or("tp", 1);
  run.pipeline = row.count_or("pp", 1);
  run.micro_batch = row.count("mbs");
  run.recompute = row.is("act_ckpt", "full") ? "full" : "none";
  run.ends_count_as_layers = true;
  run.zero = zero_of(row);
  if (run.zero == 3) run.shard = run.gpus / (run.tensor * run.pipeline);
  if (row.has("zero_stage", "offload")) run.home = "{weights: host, optimizer: host}";
  set_run(into, run);
}

}  // namespace

Source bigscience_source() {
  return {"bigscience", {"nodes", "zero_stage", "sec_per_it", "tflops_formula", "mem_GB"}, map};
}

}  // namespace trainyard
