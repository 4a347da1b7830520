// Experts: their operators, how tokens find them, and logs of routes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "tests/workloads/layers.hpp"
#include "workloads/route_log.hpp"
#include "workloads/workloads.hpp"

namespace trainyard {
namespace {

struct Outcome {
  Workload workload;
  std::string error;
};

Outcome outcome_of(const std::string& routing, const std::string& model = "mixtral-8x7b", const std::string& directory = ".") {
  Diagnostics diagnostics;
  Outcome outcome;
  const ConfigValue section = read_yaml_text(
      "{model: " + model + ", sequence_length: 4096, global_batch: 64, routing: " + routing + "}", "w.yaml", diagnostics);
  if (diagnostics.empty() && check(section, workload_schema(), diagnostics)) outcome.workload = build_workload(section, directory, diagnostics);
  outcome.error = diagnostics.text();
  return outcome;
}

// h = 4096, 8 experts of 14336, 2 a token: up 2·14336 wide. Each token's product: 2 · 4096 · 28672 · 2 FLOPs.
TEST_CASE("Grouped products count the experts' weights and a token's share of them") {
  const LayerType layer = decoder_layer(find_model("mixtral-8x7b")->architecture, context_of("megatron-core-2024"), true);
  const Operator& up = find_operator(layer, "experts_up");
  CHECK(up.kind == OperatorClass::grouped_gemm);
  CHECK(up.items == 8);
  CHECK(up.parameters == 8.0 * 4096 * 28672);
  CHECK(up.forward_flops.per_token.value == 2.0 * 4096 * 28672 * 2);
  CHECK(up.saved.per_token.value == 2 * 4096.0 * 2);
  CHECK(find_operator(layer, "combine").saved.per_token.value == 2 * 4096.0 * 2);
  CHECK(find_operator(layer, "dispatch").output.per_token.value == 2 * 4096.0 * 2);
}

// What is added before it leaves a node was weighted before: 2 (2 + 1) h bytes each way, and nothing kept.
TEST_CASE("outputs of experts are not kept where a token's are added on their way") {
  const LayerType kept = decoder_layer(find_model("mixtral-8x7b")->architecture, context_of("nemo-2024"), true);
  const LayerType added = decoder_layer(find_model("mixtral-8x7b")->architecture, context_of("megatron-bridge-2026"), true);
  CHECK(find_operator(kept, "combine").saved.per_token.value == 2 * 4096.0 * 2);
  CHECK(find_operator(kept, "combine").backward_bytes.per_token.value == 2 * 5 * 4096.0);
  CHECK(find_operator(added, "combine").saved.per_token.value == 0);
  CHECK(find_operator(added, "combine").backward_bytes.per_token.value == 2 * 3 * 4096.0);
}

// Mixtral: 2 experts of 14,336, gated; proj reads 4,096, in bf16 for attention and in fp8, or once in 12 bits.
TEST_CASE("saved_precision: inputs of activations in a byte, attention's output once in 12 bits") {
  const auto layer_of = [](const std::string& keys) {
    Diagnostics diagnostics;
    const ConfigValue section = read_yaml_text("{model: mixtral-8x7b, sequence_length: 4096, global_batch: 64, " + keys + "}", "w.yaml", diagnostics);
    const Workload workload = build_workload(section, ".", diagnostics);
    return std::pair(workload.modules.empty() ? LayerType{} : workload.modules[0].types[1], diagnostics.text());
  };
  const LayerType wide = layer_of("precision: fp8").first, narrow = layer_of("precision: fp8, saved_precision: fp8").first;
  CHECK(find_operator(wide, "experts_activation").saved.per_token.value == 2 * 2.0 * 28672);
  CHECK(find_operator(narrow, "experts_activation").saved.per_token.value == 2 * 1.0 * 28672);
  CHECK(find_operator(wide, "proj").saved.per_token.value == 3 * 4096.0);
  CHECK(find_operator(narrow, "proj").saved.per_token.value == 1.5 * 4096);
  CHECK(find_operator(narrow, "experts_up").saved == find_operator(wide, "experts_up").saved);
  CHECK(layer_of("precision: bf16, saved_precision: fp8").second.find("saved_precision: goes with a precision of fp8 or fp4") != std::string::npos);
}

// h = F = 2880, 4 experts a token: swiglu 6F + 10F, clamps 16F + 20F, the first bias's gradient 2 · 2F; the second bias 28h + 40h. Kept: the
// first product's output before and behind the clamp.
TEST_CASE("GPT-OSS: clamped activations and a bias behind the second product, counted kernel by kernel") {
  const LayerType layer = decoder_layer(find_model("gpt-oss-120b")->architecture, context_of("nemo-2024"), true);
  const Operator& activation = find_operator(layer, "experts_activation");
  CHECK(activation.forward_bytes.per_token.value == 4 * 2880.0 * (6 + 16));
  CHECK(activation.backward_bytes.per_token.value == 4 * 2880.0 * (10 + 20 + 4));
  CHECK(activation.saved.per_token.value == 4 * 2.0 * 2 * 5760);
  CHECK(find_operator(layer, "experts_bias").forward_bytes.per_token.value == 4 * 2880.0 * 28);
  CHECK(find_operator(layer, "experts_bias").backward_bytes.per_token.value == 4 * 2880.0 * 40);
  CHECK(find_operator(layer, "experts_bias").items == 128);
}

// memory.md §2.4: 4 ql + 4 kvl + 2 rope + 4 a(nope+rope) + 4 a v + 4 a beside the norm's input and output.
TEST_CASE("Latent attention keeps full-width Q, K, V and the narrow vectors before and after their norms") {
  const LayerType layer = decoder_layer(find_model("deepseek-v3")->architecture, context_of("megatron-core-2024"), true);
  double saved = 0;
  for (const Operator& op : layer.operators) {
    if (op.name == "mlp_norm") break;
    saved += op.saved.per_token.value;
  }
  const double a = 128, h = 7168;
  CHECK(saved == 2 * h + 2 * h + 4 * 1536 + 4 * 512 + 2 * 64 + 4 * a * 192 + 4 * a * 128 + 4 * a);
}

// A module of its own: a decoder layer, 2h x h, two norms of h and the head's, and no tables; a token passes the logits once more.
TEST_CASE("Multi-token prediction: parameters and FLOPs of a module behind the last layer") {
  Architecture a = find_model("deepseek-v3")->architecture;
  const OperatorContext context = context_of("megatron-core-2024");
  const Module plain = build_module(a, context);
  a.prediction_layers = 1;
  const Module predicting = build_module(a, context);
  REQUIRE(predicting.layers.size() == plain.layers.size() + 1);
  CHECK(predicting.layers[62].name == "prediction 0");
  const auto sum = [](const LayerType& layer, auto of) {
    double total = 0;
    for (const Operator& op : layer.operators) total += of(op);
    return total;
  };
  const auto parameters = [](const Operator& op) { return op.parameters; };
  const auto flops = [](const Operator& op) { return op.forward_flops.of(4096).value; };
  const LayerType decoder = decoder_layer(a, context, true), head = head_layer(a, context);
  const LayerType& module = predicting.types[std::size_t(predicting.layers[62].type)];
  const double h = 7168;
  CHECK(sum(module, parameters) == sum(decoder, parameters) + 2 * h * h + 3 * h);
  CHECK(sum(module, flops) == Approx(sum(decoder, flops) + 4096 * 4 * h * h + sum(head, flops)));
  CHECK(parameter_count(predicting) - parameter_count(plain) == Approx(sum(module, parameters)));
}

TEST_CASE("Routing by Zipf's law: shares of one, the hottest drawn for each layer, none above one copy a token") {
  const Outcome outcome = outcome_of("{zipf: 1, seed: 7}");
  REQUIRE(outcome.error.empty());
  const auto& load = outcome.workload.data.item_load;
  REQUIRE(load.size() == 34);
  CHECK(load.front().empty());  // the embedding
  bool differs = false;
  for (std::size_t i = 1; i <= 32; ++i) {
    CHECK(std::accumulate(load[i].begin(), load[i].end(), 0.0) == Approx(1));
    // 1/H(8), H(8) = 2.717857
    CHECK(*std::max_element(load[i].begin(), load[i].end()) == Approx(1 / 2.717857142857143));
    differs = differs || load[i] != load[1];
  }
  CHECK(differs);
  CHECK(outcome_of("{zipf: 1, seed: 7}").workload == outcome.workload);
  CHECK_FALSE(outcome_of("{drifting: 1, seed: 7, step: 1}").workload.data.item_load == load);
  const auto steep = outcome_of("{zipf: 9}").workload.data.item_load[1];
  CHECK(*std::max_element(steep.begin(), steep.end()) == Approx(0.5));
}

TEST_CASE("Mistakes of routing are named") {
  CHECK(outcome_of("{zipf: 1}", "llama-2-7b").error.find("routing needs a model with experts") != std::string::npos);
  CHECK(outcome_of("{zipf: 1, shares: [1, 2]}").error.find("one of zipf, drifting, shares and trace") != std::string::npos);
  CHECK(outcome_of("{shares: [1, 2]}").error.find("2 shares, but layers have 8 experts") != std::string::npos);
  CHECK(outcome_of("{padded: true}").error.find("padded goes with capacity") != std::string::npos);
  CHECK(outcome_of("{trace: nowhere.jsonl}").error.find("nowhere.jsonl") != std::string::npos);
}

std::string route(int layer, const char* experts) {
  return "{\"type\": \"route\", \"layer\": " + std::to_string(layer) + ", \"topk_ids\": [" + experts + "]}\n";
}

TEST_CASE("A log of routes: hits by layer, with or without runs of an engine's warm-up") {
  std::string text = "{\"type\": \"meta\", \"top_k\": 2}\n";
  for (int i = 0; i < 20; ++i) text += route(0, "3, 4");
  text += route(0, "0, 1") + route(0, "1, 2") + route(0, "1, 2");
  CHECK(read_route_log(text, false).hits.at(0) == std::vector<double>{1, 3, 2, 20, 20});
  CHECK(read_route_log(text, true).hits.at(0) == std::vector<double>{1, 3, 2});
  CHECK(read_route_log("{\"type\": \"meta\"}\n", false).problem == "holds no routes");
  CHECK(read_route_log("{\"type\": \"route\", \"layer\": 0}\n", false).problem == "line 1: a route without `topk_ids`");
  CHECK(read_route_log(route(0, "-1"), false).problem == "line 1: `topk_ids` holds -1, which is no expert");
  CHECK(read_route_log("nonsense\n", false).problem == "line 1: no JSON object");
}

TEST_CASE("A log whose keys stand again counts every token, whatever its weights add up to; other lines are passed over") {
  const std::string again = R"({"type": "route", "req_id": "r1", "token_idx": 0, "layer": 0, "topk_ids": [2, 0], "topk_weights": [0.09, 0.05]})";
  CHECK(read_route_log(again + "\r\n\n" + again + "\n{\"type\": 7}\n{\"type\": null}\n", true).hits.at(0) == std::vector<double>{2, 0, 2});
  CHECK(read_route_log(R"({"type": "route", "layer": 4294967296, "topk_ids": [1]})", false).problem == "line 1: a route without `layer`");
}

TEST_CASE("The real log of Qwen1.5-MoE: warm-up left out, every layer as the one that it holds") {
  const std::filesystem::path folder = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "../shared/data/traces/moe-routes";
  if (!std::filesystem::exists(folder / "moe_routes.jsonl")) {
    WARN("skipped: no ../shared/data");
    return;
  }
  const Outcome outcome = outcome_of("{trace: moe_routes.jsonl, skip: warm_up, missing_layers: repeat}", "qwen1.5-moe-a2.7b", folder.string());
  REQUIRE(outcome.error.empty());
  const std::vector<double>& load = outcome.workload.data.item_load.at(1);
  REQUIRE(load.size() == 60);
  CHECK(std::accumulate(load.begin(), load.end(), 0.0) == Approx(1));
  CHECK(load[43] < 0.1);  // one of the warm-up's four, a quarter of all hits with it
  CHECK(outcome_of("{trace: moe_routes.jsonl}", "qwen1.5-moe-a2.7b", folder.string()).error.find("holds no routes of layer 1") != std::string::npos);
}

}  // namespace
}  // namespace trainyard
