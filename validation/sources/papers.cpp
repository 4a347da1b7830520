// Tables of papers and repositories, one set a paper (column source_set).
#include <fmt/format.h>

#include "sim/model/workload.hpp"
#include "validation/sources/models.hpp"
#include "validation/sources/source.hpp"
#include "workloads/catalogue.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

/// What a set of rows has in common; what its paper leaves open is assumed here.
struct Set {
  std::string_view name;
  Site site;
  const char* software;
  const char* recompute;  ///< where the row does not say
  bool hardware_flops;    ///< the printed FLOP/s count the recomputed forward pass
};

constexpr double kPeakH100 = 989e12;  // as those papers take it

const char* const kEra2021 = "megatron-2021";
const char* const kEra2022 = "megatron-2022";
/// `tp-comm-overlap` is among the overlaps that its README lists.
const char* const kCore08 = "{preset: megatron-core-2024, splits_tensor_products: true}";
/// Table 3 of MegaScale adds the overlaps of tensor, pipeline and data parallelism to its baseline, which has none of them.
const char* const kMegatron2023 =
    "{preset: megatron-core-2024, overlap_tensor: false, overlap_gradient_reduce: false, overlap_weight_gather: false}";
const char* const kNoOverlap =
    "{preset: megatron-core-2024, overlap_gradient_reduce: false, overlap_weight_gather: false, overlap_tensor: false}";

const std::vector<Set>& sets() {
  static const std::vector<Set> all{
      // Megatron-LM README v2.x: tensor 8, pipeline 16, micro-batch 1 assumed
      {"megatron_readme", {.gpu = "A100-SXM4-80GB"}, kEra2021, "full", true},
      {"megatron_v2.0_tables", {.gpu = "A100-SXM4-80GB"}, kEra2021, "full", true},
      // Megatron-LM core 0.8: micro-batch and chunks are not printed: 1 and 1 assumed
      {"mcore08_h100", {.gpu = "H100-SXM5-80GB", .nic = "400 Gbps"}, kCore08, "selective", false},
      {"mcore08_h100_strong", {.gpu = "H100-SXM5-80GB", .nic = "400 Gbps"}, kCore08, "selective", false},
      {"korthikanti", {.gpu = "A100-SXM4-80GB"}, kEra2022, "none", false},
      {"llama3",
       {.gpu = "H100-SXM5-80GB", .nic = "400 Gbps", .transport = "roce"},
       "megatron-core-2024",
       "none",
       false},
      {"megascale", {.gpu = "A100-SXM4-80GB"}, kMegatron2023, "selective", false},
      {"megascale_530B", {.gpu = "A100-SXM4-80GB"}, kMegatron2023, "selective", false},
      {"nemotron15", {.gpu = "H100-SXM5-80GB", .nic = "400 Gbps"}, "megatron-core-2024", "none", false},
      {"simumax_a100pcie", {.gpu = "A100-PCIe-80GB"}, kNoOverlap, "none", false},
      // Megatron-Core with experts: micro-batch 1 and no chunks assumed where they are not printed
      {"mcore_moe_readme", {.gpu = "H100-SXM5-80GB", .nic = "400 Gbps"}, "megatron-core-2024", "none", false},
      {"mpf_table3", {.gpu = "H100-SXM5-80GB", .nic = "400 Gbps"}, "megatron-core-2024", "none", false},
      {"mpf_table5", {.gpu = "H100-SXM5-80GB", .nic = "400 Gbps"}, "megatron-core-2024", "none", false},
      {"internevo",
       {.gpu = "A100-SXM4-80GB", .nics = 4, .nic = "100 Gbps", .transport = "roce"},
       "megatron-core-2024",
       "none",
       false}};
  return all;
}

const Set& set_of(const CsvRow& row) {
  for (const Set& set : sets())
    if (set.name == row["source_set"]) return set;
  throw Unmapped(fmt::format("set {} is no training of a printed configuration", row["source_set"]));
}

bool has_experts(const CsvRow& row) { return row.is("source_set", "mcore_moe_readme") || row.has("source_set", "mpf_table"); }

/// Model FLOPs of a step by Megatron's convention.
double flops_of(const std::string& model, double length, double batch) {
  Workload workload;
  const CatalogueModel* known = find_model(model);
  if (known == nullptr) throw Unmapped(fmt::format("FLOPs of {} are not known", model));
  workload.modules = {build_module(known->architecture, {})};
  workload.passes = {Pass{"train", {}, PassKind::train, {}, 1, 0, 1, 1}};
  workload.data.sequence_length = length;
  workload.global_batch = batch;
  return model_flops_per_step(workload).value;
}

std::string model_of(const CsvRow& row) {
  if (has_experts(row)) return written_out(published_model(row["model"]));
  if (row.has("model", "lama 3 405B")) return written_out(published_model("llama3 405b"));
  if (row.has("model", "llama3-70b (12 layers)")) return written_out(published_model("llama3 70b"), 12);
  if (row.has("model", "Nemotron-4 15B")) return written_out(published_model("nemotron4 15b"));
  const bool llama = row.has("model", "InternLM");
  const std::string shape =
      llama ? fmt::format("family: llama, ffn: 11008") : fmt::format("max_positions: {}", row["seq_len"]);
  return fmt::format("{{layers: {}, hidden: {}, heads: {}, vocabulary: {}, {}}}", row.count("layers"),
                     row.count("hidden"), row.count("heads"), row.count("vocab"), shape);
}

/// The printed time, else what the printed FLOP/s say by Megatron's formula.
std::optional<double> step_time(const CsvRow& row, const Set& set, const Measurement& into) {
  if (row.has("iter_how", "verify") || row.has("iter_how", "recalled")) return std::nullopt;
  if (const auto printed = row.number("iter_time_s")) return printed;
  if (has_experts(row)) {
    const auto mfu = row.number("mfu_pct");
    if (!mfu) return std::nullopt;
    return flops_of(published_model(row["model"]).name, row.count("seq_len"), row.count("gbs")) / (*mfu / 100 * kPeakH100 * into.gpus);
  }
  const auto rate = row.number("tflops_per_gpu");
  const auto layers = row.number("layers"), hidden = row.number("hidden"), vocabulary = row.number("vocab");
  const auto length = row.number("seq_len"), batch = row.number("gbs");
  if (!rate || !layers || !hidden || !vocabulary || !length || !batch) return std::nullopt;
  return gpt_flops(*layers, *hidden, *vocabulary, *length, *batch, set.hardware_flops) / (*rate * 1e12 * into.gpus);
}

int zero_of(const CsvRow& row) {
  const std::string& zero = row["zero"];
  if (zero.empty() || zero == "dist. optimizer") return -1;
  if (zero.find("within") != std::string::npos) throw Unmapped("ZeRO inside smaller groups than the data axis");
  return zero[0] == '1' ? 1 : zero[0] == '3' ? 3 : -1;
}

std::string recompute_of(const CsvRow& row, const Set& set) {
  for (const char* word : {"full", "selective", "none"})
    if (row.is("recompute", word)) return word;
  return set.recompute;
}

void layout(const CsvRow& row, TrainingRun& run) {
  // Llama 3, §3.3.2: the first chunk holds only the embedding and the last only the head, so 126 layers make 128 chunks of one.
  const bool llama3 = row.is("source_set", "llama3") && row.count_or("pp", 1) == 16;
  if (llama3) run.ends_count_as_layers = true;
  const bool readme = row.is("source_set", "megatron_readme");
  run.tensor = row.count_or("tp", readme ? 8 : 1);
  run.pipeline = row.count_or("pp", readme ? 16 : 1);
  run.context = row.count_or("cp", 1);
  if (run.pipeline > 1) run.chunks = llama3 ? 8 : row.count_or("vp", 1);
  const int data = run.gpus / (run.tensor * run.pipeline * run.context);
  const bool whole = row.is("source_set", "megatron_v2.0_tables");  // one micro-batch, as its batch of one replica
  run.micro_batch = row.count_or("mbs", whole ? run.global_batch / data : 1);
  run.expert = row.count_or("ep", 1);
  if (run.expert > 1) run.expert_tensor = row.count_or("etp", run.tensor);
  run.zero = zero_of(row);
  if (run.zero == 3) run.shard = data;
  if (run.tensor > 1 && row.has("variant", "sequence parallel"))
    run.sequence_parallel = row.has("variant", "no sequence") ? "false" : "true";
}

void map(const CsvRow& row, Measurement& into) {
  into.gpu = row["gpu"];
  into.model = row["model"];
  into.gpus = row.count_or("n_gpus", 0);
  refuse_other_workloads(into.model);
  need_read_figure(row);
  const Set& set = set_of(row);
  into.group = fmt::format("{}/{}/{}", set.name, into.gpu, into.model);
  if (has_experts(row) && (row["pp"].empty() || row.has("variant", "FSDP"))) throw Unmapped("the layout is not printed");
  if (row.has("variant", "MegaScale")) throw Unmapped("a changed model: parallel block, sliding window");
  TrainingRun run;
  run.site = set.site;
  if (row.has("gpu", "V100"))
    run.site = {.gpu = "V100-SXM2-32GB", .gpus_per_node = 16, .nic = "100 Gbps", .inside = "nvswitch"};
  into.gpu = run.site.gpu;
  run.gpus = into.gpus;
  into.step_time_s = step_time(row, set, into);
  const auto states = row.number("mem_GiB_param_opt"), activations = row.number("mem_GiB_act");
  if (states && activations && !row.has("note", "analytic"))
    into.peak_memory_bytes = (*states + *activations) * 1024 * 1024 * 1024;
  if (!into.step_time_s && !into.peak_memory_bytes) throw Unmapped("no measured time or memory is printed");
  run.layers = row.count_or("layers", has_experts(row) ? published_model(row["model"]).layers : 12);
  run.model = model_of(row);
  run.sequence_length = row.count_or("seq_len", 4096);
  run.global_batch = row.count("gbs");
  run.precision = row.is("precision", "fp16") ? "fp16" : "bf16";
  run.software = set.software;
  run.recompute = recompute_of(row, set);
  layout(row, run);
  set_run(into, run);
}

}  // namespace

Source papers_source() {
  return {"papers", {"source_set", "params_B", "iter_how", "flop_convention", "mem_GiB_act"}, map};
}

}  // namespace trainyard
