// `method: lora`: what it freezes and adds, by hand.
#include "workloads/low_rank.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/workloads/layers.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

/// Hidden 64, Q, K and V 128 wide, MLP 96 wide and gated.
const std::string kModel = "{layers: 2, hidden: 64, heads: 4, kv_heads: 2, head_size: 16, ffn: 96, vocabulary: 128, family: llama}";

struct Outcome {
  Workload workload;
  std::string error;
};

Outcome outcome_of(const std::string& more, const std::string& model = kModel) {
  Diagnostics diagnostics;
  Outcome outcome;
  const std::string text = "{model: " + model + ", sequence_length: 32, global_batch: 4, method: " + more + "}";
  const ConfigValue section = read_yaml_text(text, "w.yaml", diagnostics);
  if (diagnostics.empty() && check(section, workload_schema(), diagnostics)) outcome.workload = build_workload(section, ".", diagnostics);
  outcome.error = diagnostics.text();
  return outcome;
}

const LayerType& decoder(const Workload& workload) { return workload.modules.at(0).types.at(1); }

TEST_CASE("lora trains r (k + n) parameters a target and nothing else") {
  const Workload all = outcome_of("{lora: {rank: 8}}").workload;
  const double adapters = 8.0 * ((64 + 128) + (64 + 64) + (64 + 192) + (96 + 64));
  CHECK(trained_parameter_count(all.modules[0]) == 2 * adapters);
  CHECK(parameter_count(all.modules[0]) - 2 * adapters == parameter_count(outcome_of("backprop").workload.modules[0]));
  CHECK(all.method == "lora, rank 8 on qkv, proj, mlp_up, mlp_down");
  const Workload some = outcome_of("{lora: {rank: 8, alpha: 16, targets: [qkv]}}").workload;
  CHECK(trained_parameter_count(some.modules[0]) == 2 * 8.0 * (64 + 128));
  CHECK(outcome_of("lora").workload.modules == outcome_of("{lora: {rank: 32, targets: [qkv, proj, mlp_up, mlp_down]}}").workload.modules);
}

TEST_CASE("a frozen product does 4 of 6 FLOPs a parameter; adapters all six") {
  const Workload full = outcome_of("backprop").workload, lora = outcome_of("{lora: {rank: 8, targets: [qkv]}}").workload;
  const double products = 2 * (64.0 * 128 + 64 * 64 + 64 * 192 + 96 * 64) + 64 * 128;
  const double adapters = 2 * 8.0 * (64 + 128), tokens = 4 * 32;
  CHECK((model_flops_per_step(full) - model_flops_per_step(lora)).value == Approx(tokens * (2 * products - 6 * adapters)));
}

TEST_CASE("inputs that no adapter reads are not kept, but attention's output is") {
  const Workload lora = outcome_of("{lora: {rank: 8, targets: [qkv]}}").workload;
  const LayerType& layer = decoder(lora);
  CHECK(find_operator(layer, "qkv").saved == Cost<Bytes>{});
  CHECK(find_operator(layer, "qkv_lora_a").saved.per_token == Bytes(2 * 64));
  CHECK(find_operator(layer, "qkv_lora_b").saved.per_token == Bytes(2 * 8));
  CHECK(find_operator(layer, "proj").saved.per_token == Bytes(2 * 64));
  CHECK(find_operator(layer, "mlp_up").saved == Cost<Bytes>{});
  CHECK(find_operator(layer, "mlp_down").saved == Cost<Bytes>{});
  CHECK(find_operator(layer, "activation").saved.per_token > Bytes(0));
  CHECK(find_operator(lora.modules[0].types[2], "logits").saved == Cost<Bytes>{});
  CHECK(find_operator(lora.modules[0].types[0], "embedding").backward_bytes == Cost<Bytes>{});
  CHECK_FALSE(find_operator(layer, "attention_norm").trainable);
}

TEST_CASE("both factors are cut by columns, the first of a row-cut target by rows") {
  const LayerType layer = decoder(outcome_of("{lora: {rank: 8}}").workload);
  CHECK(find_operator(layer, "qkv").join == TensorJoin::first);
  CHECK(find_operator(layer, "qkv_lora_a").join == TensorJoin::last);
  CHECK(find_operator(layer, "qkv_lora_a").cut == TensorCut::column);
  CHECK(find_operator(layer, "qkv_lora_b").cut == TensorCut::column);
  CHECK(find_operator(layer, "qkv_lora_b").gathered.per_token == Bytes(2 * 8));
  CHECK(find_operator(layer, "mlp_down_lora_a").cut == TensorCut::row);
  CHECK(find_operator(layer, "mlp_down_lora_b").cut == TensorCut::column);
  CHECK(find_operator(layer, "mlp_down_lora_add").gathered.per_token == Bytes(2 * 64));
  CHECK_FALSE(find_operator(layer, "mlp_down_lora_a").splits_rows);
}

TEST_CASE("branches of a parallel block and their adapters share one join and keep their input once") {
  const std::string parallel = "{layers: 2, hidden: 64, heads: 4, vocabulary: 128, max_positions: 64, block: parallel}";
  const LayerType layer = decoder(outcome_of("{lora: {rank: 8, targets: [qkv, mlp_up]}}", parallel).workload);
  CHECK(find_operator(layer, "qkv").join == TensorJoin::first);
  CHECK(find_operator(layer, "qkv_lora_a").join == TensorJoin::middle);
  CHECK(find_operator(layer, "mlp_up").join == TensorJoin::middle);
  CHECK(find_operator(layer, "mlp_up_lora_a").join == TensorJoin::last);
  CHECK(find_operator(layer, "qkv_lora_a").saved.per_token == Bytes(2 * 64));
  CHECK(find_operator(layer, "mlp_up_lora_a").saved == Cost<Bytes>{});
  CHECK(find_operator(layer, "proj_bias_gradient").backward_bytes == Cost<Bytes>{});
}

TEST_CASE("wrong options of lora are named") {
  CHECK(outcome_of("{lora: {targets: [qkv, qkv]}}").error.find("target qkv stands here twice") != std::string::npos);
  CHECK(outcome_of("{lora: {targets: [qvk]}}").error.find("did you mean \"qkv\"?") != std::string::npos);
  CHECK(outcome_of("{lora: {rank: 0}}").error.find("rank") != std::string::npos);
  CHECK(outcome_of("{lora: {dim: 8}}").error.find("unknown key \"dim\"") != std::string::npos);
}

}  // namespace
}  // namespace trainyard
