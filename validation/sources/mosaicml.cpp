// MosaicML llm-foundry benchmarks: MPT with FSDP, weights gathered again for each micro-batch, Triton attention with
// ALiBi.
#include <fmt/format.h>

#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"

namespace trainyard {
namespace {

// 1,600 Gb/s a node on A100 as printed; H100 not printed: 3,200 Gb/s assumed.
void map(const CsvRow& row, Measurement& into) {
  TrainingRun run;
  const bool h100 = row.has("gpu", "h100");
  run.site = {.gpu = h100                     ? "H100-SXM5-80GB"
                     : row.has("gpu", "40gb") ? "A100-SXM4-40GB"
                                              : "A100-SXM4-80GB",
              .nic = h100 ? "400 Gbps" : "200 Gbps",
              .transport = h100 ? "" : "roce"};
  into.gpu = run.site.gpu;
  into.model = row["model"];
  run.gpus = into.gpus = row.count("n_gpus");
  into.step_time_s = row.number("iter_time_s_derived");
  run.layers = row.count("n_layers");
  run.model = fmt::format(
      "{{layers: {}, hidden: {}, heads: {}, vocabulary: {}, positions: alibi, norm: layer_no_bias, biases: none, tied: "
      "true}}",
      run.layers, row.count("d_model"), row.count("n_heads"), row.count("vocab"));
  run.sequence_length = row.count("seq_len");
  run.global_batch = row.count("gbs_seqs");
  run.precision = row.has("precision", "fp8") ? "fp8" : "bf16";
  run.software =
      row.is("fsdp_mp_mode", "PURE") ? "{preset: llm-foundry-2023, gradient_reduce_type: bf16}" : "llm-foundry-2023";
  run.shard = run.gpus;
  run.zero = row.is("sharding", "SHARD_GRAD_OP") ? 2 : 3;
  run.micro_batch = row.count("mbs_per_gpu");
  run.recompute = row.is("act_ckpt_full", "True") ? "full" : "none";
  if (row.is("act_cpu_offload", "True")) run.home = "{activations: host}";
  set_run(into, run);
}

}  // namespace

Source mosaicml_source() {
  return {"mosaic", {"ffn_mult", "mbs_per_gpu", "sharding", "fsdp_mp_mode", "iter_time_s_derived"}, map};
}

}  // namespace trainyard
