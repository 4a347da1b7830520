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

// What follows is in the recipes of the tests (NVIDIA/Megatron-LM,
// tests/functional_tests/test_cases/gpt/*/model_config.yaml), which agree within these kinds of names.

/// `mcore_tp..` in a name, for `mcore_te_tp..`: Megatron's own layers (`--transformer-impl local`).
bool own_layers(const CsvRow& row) { return row.has("test_case", "_mcore_tp") && !row.has("test_case", "weekly"); }

/// The containers of the older long-term support: their Transformer Engine has no deterministic fused attention.
bool older_container(const CsvRow& row) { return row.has("source", "dracooci"); }

/// `--attention-backend`: flash with a context axis, left to Transformer Engine (which takes a fused one where it may)
/// where a run is resumed, in the tests of the fused loss, of fp8 and of the 7B model, else unfused, which is
/// deterministic.
std::string attention(const CsvRow& row) {
  if (own_layers(row)) return row.has("test_case", "uninstall_te") ? "unfused" : "fused_softmax";
  if (row.count_or("cp", 1) > 1) return "flash_2";
  if (row.has("test_case", "reshard")) return "flash_2";  // NVTE_ALLOW_NONDETERMINISTIC_ALGO: 1
  const bool left_open = row.has("test_case", "resume") || row.has("test_case", "cross_entropy") ||
                         row.has("test_case", "weekly") || row.has("test_case", "gpt3_7b");
  return left_open && !(row.is("env", "lts") && older_container(row)) ? "flash_2" : "fused_softmax";
}

/// `--cross-entropy-loss-fusion` is compiled by PyTorch; in the older containers it keeps as much as without (memory.md
/// §4).
std::string loss(const CsvRow& row) {
  if (!row.has("test_case", "cross_entropy_loss_fusion")) return "vocab_parallel";
  return older_container(row) ? "eager" : "vocab_parallel_fused";
}

/// All but the tests of deferred weight gradients say `--no-gradient-accumulation-fusion`, so that no dummies stand for
/// gradients, and those with a context axis (but for fp8) `--hidden-dropout 0 --attention-dropout 0`.
std::string software(const CsvRow& row) {
  const bool deferred = row.has("test_case", "defer_embedding_wgrad");
  const bool dropout = row.count_or("cp", 1) == 1 || row.has("test_case", "weekly");
  return fmt::format(
      "{{preset: megatron-core-2024, attention: {}, loss: {}, dropout: {}, sequence_parallel: {}, "
      "overlap_gradient_reduce: {}, "
      "overlap_weight_gather: {}, distributed_optimizer: {}, cached_gradient_dummies: {}{}}}",
      attention(row), loss(row), dropout, row.is("seq_par", "True"), row.is("overlap_grad", "True"),
      row.is("overlap_param", "True"), row.is("dist_opt", "True"), deferred,
      deferred || !row.is("tiny", "yes") ? "" : ", fused_gradient_accumulation: false");
}

/// `--decoder-first-pipeline-num-layers 2 --decoder-last-pipeline-num-layers 2`, and two chunks a stage of which the
/// first and the last hold embedding and head in place of a layer (`--account-for-embedding-in-pipeline-split`,
/// `--account-for-loss-in-pipeline-split`).
void set_unequal_stages(const CsvRow& row, TrainingRun& run) {
  if (row.has("test_case", "uneven_pipeline")) run.stage_layers = {2, 4, 4, 2};
  if (!row.has("test_case", "account_for_embedding")) return;
  run.chunks = 2;
  run.stage_layers = {0, 1, 1, 1, 1, 1, 1, 0};
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = nvidia_gpu(row["gpu"]);
  into.model = fmt::format("{} {} x {}", row["family"], row["layers"], row["hidden"]);
  into.gpus = row.count_or("n_gpus", 0);
  if (!row.is("tiny", "yes")) into.step_time_s = row.number("iter_time_s_median_tail");
  if (const auto memory = row.number("mem_max_allocated_GiB")) into.peak_memory_bytes = *memory * 1024 * 1024 * 1024;
  into.memory_kind = MemoryKind::last_stage;
  if (!row["experts"].empty() && !row.is("family", "nemotron"))
    throw Unmapped("mixture of experts on a number of GPUs that is not printed");
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
  set_unequal_stages(row, run);
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
