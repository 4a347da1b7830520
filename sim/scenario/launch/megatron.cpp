// What Megatron-LM's arguments mean together, and back. Source of the rules: `validate_args` of
// NVIDIA/Megatron-LM megatron/training/arguments.py (commit 000c4ac).
#include "sim/scenario/launch/megatron.hpp"

#include <fmt/format.h>

#include "sim/scenario/launch/megatron_experts.hpp"
#include "sim/scenario/launch/stage_layers.hpp"

namespace trainyard::launch {
namespace {

/// Width of the MLP without --ffn-hidden-size: 4 x hidden, two thirds of it in steps of 64 where it is gated.
std::int64_t usual_ffn(const Settings& s) {
  const std::int64_t hidden = s.count("model.hidden", 0);
  return is_on(s, "model.gated") ? hidden * 8 / 3 / 64 * 64 : 4 * hidden;
}

class Interpretation {
 public:
  Interpretation(Reading& reading, Diagnostics& diagnostics)
      : r_(reading), s_(reading.settings), diagnostics_(diagnostics) {}

  void run() {
    precision();
    model();
    experts_to_settings(r_, diagnostics_);
    switches();
    chunks();
    recompute();
    for (const std::string& key : s_.keys("raw.")) s_.drop("raw." + key);
  }

 private:
  void mistake(std::string_view key, std::string message) { diagnostics_.add(r_.place(key), std::move(message)); }

  void precision() {
    const bool half = is_on(s_, "raw.fp16"), brain = is_on(s_, "raw.bf16");
    if (half && brain) mistake("raw.bf16", "--fp16 and --bf16 exclude each other");
    s_.set("workload.precision", half ? "fp16" : brain ? "bf16" : "fp32");
    for (const char* low : {"fp8", "fp4"}) {
      if (!s_.has(fmt::format("raw.{}", low))) continue;
      if (!brain) mistake(fmt::format("raw.{}", low), fmt::format("--{}-format is simulated with --bf16 only", low));
      s_.set("workload.precision", low);
    }
    const bool wide = half ? is_on(s_, "raw.reduce_in_fp32") : !(brain && is_on(s_, "raw.reduce_in_bf16"));
    for (const char* key : {"software.gradient_type", "software.gradient_reduce_type"})
      s_.set(key, wide ? "fp32" : half ? "fp16" : "bf16");
  }

  void model() {
    const bool grouped = is_on(s_, "raw.group_query");
    if (grouped) s_.set("model.kv_heads", s_.count("raw.query_groups", 1));
    if (!grouped && s_.has("raw.query_groups"))
      r_.notes.push_back("--num-query-groups: without --group-query-attention it has no effect");
    const bool without = is_on(s_, "raw.no_bias");
    s_.set("model.biases", !without ? "all" : is_on(s_, "raw.qkv_bias") ? "qkv" : "none");
    if (!s_.has("model.ffn") && s_.has("model.hidden")) s_.set("model.ffn", usual_ffn(s_));
  }

  void switches() {
    const double attention = std::stod(s_.get("raw.attention_dropout")),
                 hidden = std::stod(s_.get("raw.hidden_dropout"));
    if ((attention > 0) != (hidden > 0))
      r_.notes.push_back(
          "--attention-dropout and --hidden-dropout: dropout is simulated in both places or in none; here in both");
    for (const char* place : {"software.dropout", "software.copies_scores"}) mark(s_, place, attention > 0 || hidden > 0);
    mark(s_, "software.gradient_clipping", std::stod(s_.get("raw.clip")) > 0);
    mark(s_, "software.cached_gradient_dummies",
         s_.is("raw.transformer", "transformer_engine") && !is_on(s_, "raw.no_fused_accumulation"));
    mark(s_, "software.fused_activation", !is_on(s_, is_on(s_, "model.gated") ? "raw.plain_swiglu" : "raw.plain_gelu"));
  }

  void chunks() {
    read_stage_layers(r_, {"--num-layers", "--pipeline-model-parallel-size"}, diagnostics_);
    const bool interleaved = s_.count("plan.chunks", 1) > 1;
    s_.set("plan.schedule", interleaved ? "interleaved" : "1f1b");
    mark(s_, "software.overlap_pipeline", interleaved && !is_on(s_, "raw.no_overlap_pipeline"));
  }

  void recompute() {
    const std::string granularity = s_.get("raw.recompute"), method = s_.get("raw.recompute_method");
    const std::int64_t layers = s_.count("raw.recompute_layers", 1);
    s_.set("plan.recompute", granularity.empty() ? "none" : granularity);
    if (granularity != "full") {
      if (!method.empty()) mistake("raw.recompute_method", "--recompute-method needs --recompute-granularity full");
      return;
    }
    if (method.empty()) return mistake("raw.recompute", "--recompute-granularity full needs --recompute-method");
    if (layers < 1) return mistake("raw.recompute_layers", "--recompute-num-layers: at least 1");
    if (method == "uniform" && layers > 1) s_.set("plan.recompute", fmt::format("every {}", layers));
    if (method == "block" && layers < fewest_layers(s_)) s_.set("plan.recompute", fmt::format("block {}", layers));
  }

  Reading& r_;
  Settings& s_;
  Diagnostics& diagnostics_;
};

void say_precision(Settings& s) {
  const std::string precision = s.get("workload.precision");
  const bool low = precision == "fp8" || precision == "fp4";
  mark(s, "raw.fp16", precision == "fp16");
  mark(s, "raw.bf16", precision == "bf16" || low);
  if (low) s.set("raw." + precision, precision == "fp8" ? "hybrid" : "e2m1");
  s.drop("workload.precision");
  const std::string kept = s.get("software.gradient_type");
  if (kept != s.get("software.gradient_reduce_type")) return;
  mark(s, "raw.reduce_in_fp32", precision == "fp16" && kept == "fp32");
  mark(s, "raw.reduce_in_bf16", kept == "bf16");
  s.drop("software.gradient_type");
  s.drop("software.gradient_reduce_type");
}

void say_model(Settings& s) {
  const std::int64_t heads = s.count("model.heads", 1);
  mark(s, "raw.group_query", s.count("model.kv_heads", heads) != heads);
  if (is_on(s, "raw.group_query")) s.set("raw.query_groups", s.get("model.kv_heads"));
  if (s.count("model.head_size", 0) * heads == s.count("model.hidden", 0)) s.drop("model.head_size");
  if (s.count("model.ffn", 0) == usual_ffn(s)) s.drop("model.ffn");
  if (!s.has("model.max_positions")) s.set("model.max_positions", s.get("workload.sequence_length"));
  const std::string biases = s.get("model.biases");
  mark(s, "raw.no_bias", biases == "none" || biases == "qkv");
  mark(s, "raw.qkv_bias", biases == "qkv");
  if (biases != "attention") s.drop("model.biases");
  s.drop("model.kv_heads");
}

void say_switches(Settings& s) {
  for (const char* key : {"raw.attention_dropout", "raw.hidden_dropout"})
    s.set(key, is_on(s, "software.dropout") ? "0.1" : "0.0");
  s.set("raw.clip", is_on(s, "software.gradient_clipping") ? "1.0" : "0.0");
  s.set("raw.transformer", is_on(s, "software.cached_gradient_dummies") ? "transformer_engine" : "local");
  mark(s, is_on(s, "model.gated") ? "raw.plain_swiglu" : "raw.plain_gelu", !is_on(s, "software.fused_activation"));
  if (s.is("plan.schedule", "interleaved")) mark(s, "raw.no_overlap_pipeline", !is_on(s, "software.overlap_pipeline"));
  for (const char* key : {"dropout", "copies_scores", "gradient_clipping", "cached_gradient_dummies", "fused_activation"})
    s.drop(fmt::format("software.{}", key));
  if (s.is("plan.schedule", "interleaved") || !is_on(s, "software.overlap_pipeline"))
    s.drop("software.overlap_pipeline");
  if (!s.is("model.positions", "rotary")) s.drop("software.fused_rope");
}

void say_recompute(Settings& s) {
  const std::string recompute = s.get("plan.recompute");
  const std::size_t blank = recompute.find(' ');
  const std::string kind = recompute.substr(0, blank);
  s.drop("plan.recompute");
  if (kind.empty() || kind == "none") return;
  s.set("raw.recompute", kind == "selective" ? "selective" : "full");
  if (kind == "selective") return;
  s.set("raw.recompute_method", kind == "block" ? "block" : "uniform");
  s.set("raw.recompute_layers", blank == std::string::npos ? "1" : recompute.substr(blank + 1));
}

void read_megatron(const std::string& text, const std::string& file, Reading& into, Diagnostics& diagnostics) {
  const LaunchScript script = read_launch_script(text, file, diagnostics);
  if (!diagnostics.empty()) return;
  read_launcher(script, into, diagnostics);
  read_arguments(megatron_table(), given_arguments(script.arguments, diagnostics), into, diagnostics);
}

std::string write_megatron(const Settings& settings,
                           const std::vector<std::pair<std::string, std::string>>& arguments) {
  return launch_line(torchrun(settings), "pretrain_gpt.py", arguments);
}

}  // namespace

void megatron_to_settings(Reading& reading, Diagnostics& diagnostics) { Interpretation(reading, diagnostics).run(); }

std::string megatron_from_settings(Settings& s) {
  const std::string schedule = s.get("plan.schedule");
  if (schedule != "1f1b" && schedule != "interleaved") return fmt::format("schedule {}", schedule);
  if (s.count("plan.shard", 1) > 1) return "a `shard` axis";
  if (s.count("plan.zero", 0) > 1) return fmt::format("zero {}", s.get("plan.zero"));
  say_precision(s);
  if (const std::string why = experts_from_settings(s); !why.empty()) return why;
  say_model(s);
  say_switches(s);
  if (const std::string why = write_stage_layers(s); !why.empty()) return why;
  s.drop("plan.schedule");
  say_recompute(s);
  return "";
}

const Framework& megatron() {
  static const Framework framework{"megatron",    "Megatron-LM",        "megatron-core-2024",   megatron_table,
                                   read_megatron, megatron_to_settings, megatron_from_settings, write_megatron};
  return framework;
}

}  // namespace trainyard::launch
