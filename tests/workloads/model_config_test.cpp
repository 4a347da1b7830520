// config.json in Hugging Face's layout, params.json in Meta's: what loads, and what is refused in which words.
#include "workloads/model_config.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/model/workload.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

std::string error_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto architecture = read_model_config(text, "config.json", diagnostics);
  CHECK(architecture.has_value() == diagnostics.empty());
  return diagnostics.text();
}

double parameters_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto architecture = read_model_config(text, "config.json", diagnostics);
  INFO(diagnostics.text());
  REQUIRE(architecture.has_value());
  return parameter_count(build_module(*architecture, {}));
}

const std::string kLlama = R"("architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096,
  "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256)";

TEST_CASE("A Llama, a Qwen3 with norms of Q and K, a Qwen2 with biases, and GPT-2 load") {
  CHECK(parameters_of("{" + kLlama + "}") == 8030261248.0);
  CHECK(parameters_of(
            R"({"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 64, "hidden_size": 5120, "head_dim": 128,
    "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 25600, "vocab_size": 151936})") ==
        32762123264.0);
  CHECK(
      parameters_of(
          R"({"architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
    "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "use_sliding_window": false})") ==
      7615616512.0);
  CHECK(parameters_of(
            R"({"architectures": ["GPT2LMHeadModel"], "n_layer": 12, "n_embd": 768, "n_head": 12, "n_inner": null,
    "n_positions": 1024, "vocab_size": 50257})") == 124439808.0 + (50304 - 50257) * 768);
}

TEST_CASE("Mixtures of experts load with the counts of their released weights") {
  CHECK(parameters_of(R"({"architectures": ["MixtralForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000})") ==
        46702792704.0);
  CHECK(parameters_of(R"({"architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 48, "hidden_size": 2048, "head_dim": 128,
    "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
    "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936})") == 30532122624.0);
  CHECK(parameters_of(R"({"architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "num_nextn_predict_layers": 1, "vocab_size": 129280})") ==
        Approx(671.03e9).epsilon(1e-4));
  CHECK(parameters_of(R"({"architectures": ["DbrxForCausalLM"], "n_layers": 40, "d_model": 6144, "n_heads": 48, "vocab_size": 100352,
    "attn_config": {"kv_n_heads": 8}, "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}})") ==
        Approx(131.6e9).epsilon(1e-3));
}

TEST_CASE("What a mixture of experts says that is not simulated is refused by its key") {
  const std::string qwen = R"({"architectures": ["Qwen2MoeForCausalLM"], "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16,
"intermediate_size": 5632, "moe_intermediate_size": 1408, "num_experts": 60, "num_experts_per_tok": 4, "vocab_size": 151936, )";
  CHECK(error_of(qwen + R"("mlp_only_layers": [3]})").find("Qwen2MoeForCausalLM: single layers without experts are not simulated yet") !=
        std::string::npos);
  CHECK(error_of(qwen + R"("num_key_value_heads": 16, "num_experts_per_tok": 61})").find("experts_per_token must be a whole number") != std::string::npos);
}

TEST_CASE("The other families load with the counts of their released weights") {
  CHECK(parameters_of(R"({"architectures": ["OPTForCausalLM"], "num_hidden_layers": 24, "hidden_size": 1024,
    "num_attention_heads": 16, "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048,
    "word_embed_proj_dim": 512, "do_layer_norm_before": false})") == Approx(331196416.0).epsilon(0.001));
  CHECK(parameters_of(R"({"architectures": ["BloomForCausalLM"], "n_layer": 24, "n_embed": 1024,
    "num_attention_heads": 16, "vocab_size": 250880})") == 559214592.0);
  CHECK(parameters_of(R"({"architectures": ["MPTForCausalLM"], "n_layers": 32, "d_model": 4096, "n_heads": 32,
    "vocab_size": 50432, "max_seq_len": 2048, "expansion_ratio": 4, "no_bias": true, "attn_config": {"alibi": true}})") ==
        6649286656.0);
  CHECK(parameters_of(R"({"architectures": ["GPTNeoXForCausalLM"], "num_hidden_layers": 44, "hidden_size": 6144,
    "num_attention_heads": 64, "intermediate_size": 24576, "vocab_size": 50432})") == 20554567680.0);
  CHECK(parameters_of(R"({"architectures": ["MistralForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
    "sliding_window": 4096, "max_position_embeddings": 32768})") == 7241732096.0);
  CHECK(parameters_of(R"({"architectures": ["Gemma2ForCausalLM"], "num_hidden_layers": 26, "hidden_size": 2304,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
    "sliding_window": 4096, "max_position_embeddings": 8192})") == 2614341888.0);
  CHECK(parameters_of(R"({"architectures": ["Gemma3ForCausalLM"], "num_hidden_layers": 26, "hidden_size": 1152,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 262144,
    "sliding_window": 512, "max_position_embeddings": 32768})") == 999885952.0);
  CHECK(parameters_of(R"({"architectures": ["NemotronForCausalLM"], "num_hidden_layers": 96, "hidden_size": 18432,
    "num_attention_heads": 96, "num_key_value_heads": 8, "intermediate_size": 73728, "vocab_size": 256000})") ==
        Approx(341.0e9).epsilon(0.001));
}

TEST_CASE("A window and its pattern are read") {
  const auto read = [](const std::string& name, const std::string& more) {
    Diagnostics diagnostics;
    return read_model_config("{\"architectures\": [\"" + name + R"("], "num_hidden_layers": 6, "hidden_size": 64,
      "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100, "max_position_embeddings": 8192)" +
                                 more + "}",
                             "config.json", diagnostics)
        .value();
  };
  CHECK(read("MistralForCausalLM", ", \"sliding_window\": null").window == 0);
  CHECK(read("MistralForCausalLM", ", \"sliding_window\": 4096").window == 4096);
  CHECK(read("MistralForCausalLM", ", \"sliding_window\": 4096").global_every == 0);
  CHECK(read("Gemma2ForCausalLM", ", \"sliding_window\": 4096").global_every == 2);
  CHECK(read("Gemma3ForCausalLM", ", \"sliding_window\": 512").global_every == 6);
  CHECK(read("Gemma3ForCausalLM", ", \"sliding_window\": 512, \"sliding_window_pattern\": 4").global_every == 4);
  CHECK(error_of(R"({"architectures": ["MPTForCausalLM"], "n_layers": 2, "d_model": 64, "n_heads": 4, "max_seq_len": 8,
    "vocab_size": 9, "attn_config": 3})")
            .find("config.json:2:22: attn_config: expected an object, got 3") == 0);
}

TEST_CASE("Meta's params.json: the MLP's width follows from multiple_of and ffn_dim_multiplier") {
  CHECK(parameters_of(R"({"dim": 4096, "n_layers": 32, "n_heads": 32, "multiple_of": 256, "vocab_size": 32000})") ==
        6738415616.0);
  CHECK(parameters_of(R"({"dim": 8192, "n_layers": 80, "n_heads": 64, "n_kv_heads": 8, "multiple_of": 4096,
    "ffn_dim_multiplier": 1.3, "vocab_size": 32000})") == 68976648192.0);
}

TEST_CASE("JSON mistakes are named with line and column") {
  CHECK(error_of("{\n  \"hidden_size\": 12,,\n}") ==
        "config.json:2:21: not valid JSON: syntax error while parsing object key - unexpected ','; expected string "
        "literal\n"
        "    \"hidden_size\": 12,,\n"
        "                      ^");
  CHECK(error_of("[1]") == "config.json:1:1: expected a JSON object, got array\n  [1]\n  ^");
  CHECK(error_of("") ==
        "config.json:1:1: not valid JSON: syntax error while parsing value - unexpected end of input; expected '[', "
        "'{', or a literal");
}

TEST_CASE("Missing keys and wrong types") {
  CHECK(
      error_of(
          R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2,)"
          R"( "vocab_size": 9})")
          .find("config.json:1:1: `intermediate_size` is missing") == 0);
  CHECK(error_of("{" + kLlama + ",\n \"head_dim\": \"wide\"}") ==
        "config.json:3:2: head_dim: expected a number, got \"wide\"\n   \"head_dim\": \"wide\"}\n   ^");
  CHECK(error_of("{" + kLlama + ",\n \"tie_word_embeddings\": 1}") ==
        "config.json:3:2: tie_word_embeddings: expected true or false, got 1\n   \"tie_word_embeddings\": 1}\n   ^");
  CHECK(error_of("{}").find("config.json:1:1: neither `architectures` nor the keys of a known layout (n_embd, dim)") ==
        0);
}

TEST_CASE("Sizes that a configuration leaves out, says are null, or states against the others") {
  const std::string layers = R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 9)";
  const auto llama = [&](const std::string& more) { return "{\"architectures\": [\"LlamaForCausalLM\"], " + layers + more + "}"; };
  CHECK(error_of(R"({"architectures": ["LlamaForCausalLM"], "text_config": {"vocab_size": 9}})").find("config.json:1:") == 0);
  CHECK(error_of(llama(R"(, "intermediate_size": null)")).find("`intermediate_size` is missing\n") != std::string::npos);
  // h = 64, f = 100: q and o of 4 heads of 32, k and v of 2, against heads of 16 (and 4 of k and v)
  const double other = parameters_of(llama(R"(, "intermediate_size": 100, "head_dim": 32, "num_key_value_heads": 2)"));
  const double usual = parameters_of(llama(R"(, "intermediate_size": 100, "num_key_value_heads": null)"));
  CHECK(other - usual == 2.0 * 64 * ((2 * 4 * 32 + 2 * 2 * 32) - (4 * 4 * 16)));
}

TEST_CASE("Absurd sizes") {
  const auto gpt = [](const std::string& sizes) {
    return error_of("{\"architectures\": [\"GPT2LMHeadModel\"], \"n_positions\": 8,\n" + sizes + "}");
  };
  CHECK(gpt(R"("n_layer": 0, "n_embd": 8, "n_head": 2, "vocab_size": 9)")
            .find("config.json:2:1: n_layer: layers must be a whole number from 1 to 10000, got 0") == 0);
  CHECK(gpt(R"("n_layer": 1, "n_embd": 9, "n_head": 2, "vocab_size": 9)")
            .find("config.json:2:28: n_head: 2 heads do not divide hidden 9; give head_size") == 0);
  CHECK(gpt(R"("n_layer": 1.5, "n_embd": 8, "n_head": 2, "vocab_size": -1)")
            .find("config.json:2:1: n_layer: layers must be a whole number from 1 to 10000, got 1.5") == 0);
  CHECK(error_of("{\"dim\": 8, \"n_layers\": 1, \"n_heads\": 4, \"n_kv_heads\": 3, \"vocab_size\": 9}")
            .find("config.json:1:41: n_kv_heads: 3 kv_heads do not divide 4 heads") == 0);
}

TEST_CASE("Another mathematics is refused by name") {
  const auto refused = [](const std::string& name, const std::string& more = "") {
    const std::string text = error_of("{\"architectures\": [\"" + name + "\"]" + more + "}");
    return text.substr(0, text.find('\n'));
  };
  const std::string at = "config.json:1:2: architectures: ";
  CHECK(refused("PhiMoEForCausalLM", ", \"num_local_experts\": 8") ==
        at + "PhiMoEForCausalLM: mixture of experts is not simulated yet");
  CHECK(refused("LlavaForConditionalGeneration", ", \"vision_config\": {}") ==
        at + "LlavaForConditionalGeneration: images are not simulated yet");
  CHECK(refused("DeciLMForCausalLM") == at + "DeciLMForCausalLM: this architecture is not simulated yet");
  CHECK(refused("MiMoForCausalLM", ", \"num_nextn_predict_layers\": 1") ==
        at + "MiMoForCausalLM: multi-token prediction is not simulated yet");
  CHECK(error_of("{" + kLlama + R"(, "sliding_window": 4096, "max_position_embeddings": 32768})")
            .find("LlamaForCausalLM: a sliding window of attention is not simulated yet") != std::string::npos);
}

TEST_CASE(
    "Hostile files: endless nesting, numbers beyond double precision, a zero where a count stands, cut anywhere") {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  CHECK(error_of("{\"a\": " + deep + "}").find("config.json:1:1: nested deeper than 64 levels") == 0);
  CHECK(error_of("{\"dim\": 1e999}").find("config.json:1:1: a number is too large for double precision") == 0);
  CHECK(error_of("{" + kLlama + ",\n \"head_dim\": 0}").find("config.json:3:2: head_dim: must be at least 1, got 0") ==
        0);
  const std::string whole = "{" + kLlama + "}";
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK_FALSE(error_of(whole.substr(0, length)).empty());
}

TEST_CASE("An architecture's name cannot command the terminal") {
  CHECK(error_of("{\"architectures\": [\"A\\u001b[31mB\"]}").find("A31mB: this architecture is not simulated yet") !=
        std::string::npos);
}

/// Published counts of models whose configurations may stand in ../shared.
const std::map<std::string, double> kPublished{{"meta-llama--Meta-Llama-3.1-8B", 8.03e9},
                                               {"meta-llama--Meta-Llama-3.1-70B", 70.55e9},
                                               {"meta-llama--Meta-Llama-3.1-405B", 405.85e9},
                                               {"frontier__Llama-3.2-1B-Instruct", 1.236e9},
                                               {"Qwen--Qwen3-0.6B", 0.596e9},
                                               {"Qwen--Qwen3-8B", 8.19e9},
                                               {"Qwen--Qwen3-32B", 32.76e9},
                                               {"transcribed__Qwen2.5-7B-Instruct", 7.616e9},
                                               {"transcribed__phi-4", 14.66e9},
                                               {"galvatron__llama_hf__meta_configs__llama2-70b", 68.98e9},
                                               {"galvatron__llama_hf__meta_configs__qwen2.5-72b", 72.71e9},
                                               {"galvatron__gpt_hf__meta_configs__gpt-13b", 12.85e9},
                                               {"frontier__Llama-3.1-405B-Instruct-FP8", 405.85e9},
                                               {"llmservingsim__Qwen__Qwen3-32B", 32.76e9},
                                               {"llmservingsim__meta-llama__Llama-3.1-70B", 70.55e9},
                                               {"llmservingsim__meta-llama__Llama-3.1-8B", 8.03e9},
                                               {"neuronx__llama__tp_pp_llama_hf_pretrain__13B_config_llama2__config", 13.02e9},
                                               {"neuronx__llama__tp_pp_llama_hf_pretrain__70B_config_llama3.1__config", 70.55e9},
                                               {"neuronx__llama__tp_pp_llama_hf_pretrain__70B_config_llama3__config", 70.55e9},
                                               {"neuronx__llama__tp_zero1_llama_hf_pretrain__7B_config_llama2__config", 6.74e9},
                                               {"neuronx__llama__tp_zero1_llama_hf_pretrain__8B_config_llama3.1__config", 8.03e9},
                                               {"neuronx__llama__tp_zero1_llama_hf_pretrain__8B_config_llama3__config", 8.03e9},
                                               {"transcribed__gpt2_gptq", 0.1244e9},
                                               // The two Mixtrals of neuronx have sizes of their own, counted by hand.
                                               {"Qwen--Qwen3-235B-A22B", 235.09e9},
                                               {"Qwen--Qwen3-235B-A22B-FP8", 235.09e9},
                                               {"Qwen--Qwen3-30B-A3B", 30.53e9},
                                               {"deepseek-ai--DeepSeek-R1", 671.03e9},
                                               {"deepseek-ai--DeepSeek-V3", 671.03e9},
                                               {"llmservingsim__Qwen__Qwen3-30B-A3B-Instruct-2507", 30.53e9},
                                               {"llmservingsim__mistralai__Mixtral-8x7B-v0.1", 46.7e9},
                                               {"meta-llama--Llama-4-Maverick-17B-128E-Instruct", 400e9},
                                               {"mistralai--Mixtral-8x22B-v0.1", 140.62e9},
                                               {"mistralai--Mixtral-8x7B-v0.1", 46.7e9},
                                               {"neuronx__dbrx__dbrx_pretrain__configs__16x13b_config", 131.6e9},
                                               {"neuronx__mixtral__mixtral_pretrain__configs__8x1b_config", 0.4347e9},
                                               {"neuronx__mixtral__mixtral_pretrain__configs__8x7b_config", 47.51e9},
                                               {"simai__deepseek_R1_0528_config", 671.03e9},
                                               {"simai__qwen3-235B-A22B_FP8_config", 235.09e9},
                                               {"simai__qwen3-235B-A22B_config", 235.09e9},
                                               {"simai__qwen3-30B-A3B_config", 30.53e9}};

TEST_CASE("Every configuration found in the wild loads with its published count or is refused in one line") {
  const std::filesystem::path folder = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "../shared/data/traces/hf-configs";
  if (!std::filesystem::is_directory(folder)) {
    WARN("skipped: no ../shared/data/traces/hf-configs");
    return;
  }
  std::map<std::string, std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files[entry.path().stem().string()] = entry.path();
  for (const auto& [name, path] : files) {
    INFO(name);
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    Diagnostics diagnostics;
    const auto architecture = read_model_config(text.str(), path.filename().string(), diagnostics);
    if (!architecture) {
      REQUIRE(diagnostics.all().size() == 1);
      CHECK(kPublished.count(name) == 0);
      const std::string& refusal = diagnostics.all()[0].message;
      CHECK(refusal.find('\n') == std::string::npos);
      CHECK_THAT(refusal, Catch::EndsWith("not simulated yet") || Catch::StartsWith("not valid JSON: "));
      continue;
    }
    const double counted = parameter_count(build_module(*architecture, {}));
    REQUIRE(kPublished.count(name) == 1);
    CHECK(counted == Approx(kPublished.at(name)).epsilon(0.005));
  }
}

}  // namespace
}  // namespace trainyard
