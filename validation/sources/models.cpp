#include "validation/sources/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "validation/csv.hpp"

namespace trainyard {
namespace {

struct Known {
  const char* name;
  const char* letters;  ///< what a printed name contains once lower-cased and stripped to letters, digits and dots
  int layers;
  const char* shape;
};

/// NVIDIA prints it under two names.
constexpr const char* kNemotronH56b =
    "family: llama, hidden: 8192, heads: 64, kv_heads: 8, head_size: 128, ffn: 32768, gated: false, positions: none, vocabulary: 131072, "
    "mamba_heads: 256, mamba_head_size: 64, state_size: 256, mamba_groups: 8, conv_size: 4, scan_chunk: 128, "
    "pattern: \"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-\"";

// Sizes: Llama 2 arXiv:2307.09288, Llama 3 arXiv:2407.21783, Mistral arXiv:2310.06825, Qwen2.5 arXiv:2412.15115 and
// their config.json; Nemotron-4 arXiv:2402.16819 and 2406.11704; Nemotron-H 56B (Megatron-Bridge's
// Nemotron5-H) its config.json; GPT-3 arXiv:2005.14165 with Megatron's padded
// vocabulary; OPT arXiv:2205.01068, GPT-Neo its config.json. The first entry that fits counts.
// Mixtures of experts as in workloads/models.yaml; Llama3-8x70B is Llama 3 70B with 8 experts of its MLP's width, 2 a token (arXiv
// 2504.14960 §4.1).
constexpr std::array kModels{
    Known{"mixtral-8x22b", "mixtral8x22b", 56,
          "family: llama, hidden: 6144, heads: 48, kv_heads: 8, experts: 8, experts_per_token: 2, ffn: 16384, vocabulary: 32768"},
    Known{"mixtral-8x7b", "mixtral8x7b", 32,
          "family: llama, hidden: 4096, heads: 32, kv_heads: 8, experts: 8, experts_per_token: 2, ffn: 14336, vocabulary: 32000"},
    Known{"llama-3-8x70b", "llama38x70b", 80,
          "family: llama, hidden: 8192, heads: 64, kv_heads: 8, experts: 8, experts_per_token: 2, ffn: 28672, vocabulary: 128256"},
    Known{"grok-1", "grok1", 64,
          "family: llama, hidden: 6144, heads: 48, kv_heads: 8, experts: 8, experts_per_token: 2, ffn: 32768, vocabulary: 131072, tied: true, "
          "post_norms: true"},
    Known{"deepseek-v3", "deepseekv3", 61,
          "family: llama, hidden: 7168, heads: 128, head_size: 192, rope_size: 64, value_size: 128, query_latent: 1536, key_value_latent: 512, "
          "ffn: 18432, dense_layers: 3, experts: 256, experts_per_token: 8, expert_ffn: 2048, shared_ffn: 2048, vocabulary: 129280"},
    Known{"kimi-k2", "kimik2", 61,
          "family: llama, hidden: 7168, heads: 64, head_size: 192, rope_size: 64, value_size: 128, query_latent: 1536, key_value_latent: 512, "
          "ffn: 18432, dense_layers: 1, experts: 384, experts_per_token: 8, expert_ffn: 2048, shared_ffn: 2048, vocabulary: 163840"},
    Known{"qwen3-30b-a3b", "qwen330ba3b", 48,
          "family: llama, hidden: 2048, heads: 32, kv_heads: 4, head_size: 128, experts: 128, experts_per_token: 8, expert_ffn: 768, ffn: 6144, "
          "vocabulary: 151936, qk_norm: true"},
    Known{"qwen3-30b-a3b", "qwen3moe30b", 48,
          "family: llama, hidden: 2048, heads: 32, kv_heads: 4, head_size: 128, experts: 128, experts_per_token: 8, expert_ffn: 768, ffn: 6144, "
          "vocabulary: 151936, qk_norm: true"},
    Known{"qwen3-235b-a22b", "qwen3235ba22b", 94,
          "family: llama, hidden: 4096, heads: 64, kv_heads: 4, head_size: 128, experts: 128, experts_per_token: 8, expert_ffn: 1536, "
          "ffn: 12288, vocabulary: 151936, qk_norm: true"},
    Known{"qwen2-57b-a14b", "qwen257ba14b", 28,
          "family: llama, hidden: 3584, heads: 28, kv_heads: 4, experts: 64, experts_per_token: 8, expert_ffn: 2560, shared_ffn: 20480, "
          "shared_gate: true, ffn: 18944, vocabulary: 151936, biases: qkv"},
    Known{"gpt-oss-120b", "gptoss120b", 36,
          "family: llama, hidden: 2880, heads: 64, kv_heads: 8, head_size: 64, experts: 128, experts_per_token: 4, ffn: 2880, expert_biases: true, "
          "router_bias: true, attention_sinks: true, activation_clamp: true, biases: attention, window: 128, global_every: 2, vocabulary: 201088"},
    Known{"gpt-oss-20b", "gptoss20b", 24,
          "family: llama, hidden: 2880, heads: 64, kv_heads: 8, head_size: 64, experts: 32, experts_per_token: 4, ffn: 2880, expert_biases: true, "
          "router_bias: true, attention_sinks: true, activation_clamp: true, biases: attention, window: 128, global_every: 2, vocabulary: 201088"},
    Known{"llama-4-maverick", "llama4maverick", 48,
          "family: llama, hidden: 5120, heads: 40, kv_heads: 8, head_size: 128, experts: 128, experts_per_token: 1, expert_ffn: 8192, "
          "shared_ffn: 8192, expert_every: 2, ffn: 16384, vocabulary: 202048"},
    Known{"llama-4-scout", "llama4scout", 48,
          "family: llama, hidden: 5120, heads: 40, kv_heads: 8, head_size: 128, experts: 16, experts_per_token: 1, expert_ffn: 8192, "
          "shared_ffn: 8192, ffn: 16384, vocabulary: 202048"},
    Known{"llama-3-405b", "llama3.1405b", 126,
          "family: llama, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, vocabulary: 128256"},
    Known{"llama-3-405b", "llama3405b", 126,
          "family: llama, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, vocabulary: 128256"},
    Known{"llama-3-405b", "llama31405b", 126,
          "family: llama, hidden: 16384, heads: 128, kv_heads: 8, ffn: 53248, vocabulary: 128256"},
    Known{"llama-3-70b", "llama3.170b", 80,
          "family: llama, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocabulary: 128256"},
    Known{"llama-3-70b", "llama370b", 80,
          "family: llama, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocabulary: 128256"},
    Known{"llama-3-8b", "llama3.18b", 32,
          "family: llama, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 128256"},
    Known{"llama-3-8b", "llama38b", 32,
          "family: llama, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 128256"},
    Known{"llama-3-8b", "llama318b", 32,
          "family: llama, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 128256"},
    Known{"llama-2-70b", "llama270b", 80,
          "family: llama, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocabulary: 32000"},
    Known{"llama-2-13b", "llama213b", 40, "family: llama, hidden: 5120, heads: 40, ffn: 13824, vocabulary: 32000"},
    Known{"llama-2-7b", "llama27b", 32, "family: llama, hidden: 4096, heads: 32, ffn: 11008, vocabulary: 32000"},
    Known{"mistral-7b", "mistral7b", 32,
          "family: llama, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 32000"},
    Known{"qwen2.5-7b", "qwen2.57b", 28,
          "family: llama, hidden: 3584, heads: 28, kv_heads: 4, ffn: 18944, vocabulary: 152064, biases: qkv"},
    Known{"qwen2.5-32b", "qwen2.532b", 64,
          "family: llama, hidden: 5120, heads: 40, kv_heads: 8, ffn: 27648, vocabulary: 152064, biases: qkv"},
    Known{"nemotron-h-56b", "nemotronh56b", 118, kNemotronH56b},
    Known{"nemotron-h-56b", "nemotron5h56b", 118, kNemotronH56b},
    Known{"nemotron-3-nano", "nemotron3nano", 52,
          "family: llama, hidden: 2688, heads: 32, kv_heads: 2, head_size: 128, ffn: 1856, gated: false, positions: none, vocabulary: 131072, "
          "experts: 128, experts_per_token: 6, expert_ffn: 1856, shared_ffn: 3712, router_bias: true, mamba_heads: 64, mamba_head_size: 64, "
          "state_size: 128, mamba_groups: 8, conv_size: 4, scan_chunk: 128, pattern: \"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME\""},
    Known{"flux.1", "flux1", 57,
          "hidden: 3072, heads: 24, ffn: 12288, qk_norm: true, positions: rotary, "
          "pattern: DDDDDDDDDDDDDDDDDDDSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS, latent: 64, text_tokens: 256, text_width: 4096, "
          "conditioning: 22032384"},
    Known{"nemotron-4-15b", "nemotron415b", 32,
          "family: gpt, hidden: 6144, heads: 48, kv_heads: 8, ffn: 24576, vocabulary: 256000, positions: rotary, "
          "biases: none"},
    Known{"nemotron-4-15b", "nemotron15b", 32,
          "family: gpt, hidden: 6144, heads: 48, kv_heads: 8, ffn: 24576, vocabulary: 256000, positions: rotary, "
          "biases: none"},
    Known{"nemotron-4-340b", "nemotron4340b", 96,
          "family: gpt, hidden: 18432, heads: 96, kv_heads: 8, ffn: 73728, vocabulary: 256000, positions: rotary, "
          "biases: none"},
    Known{"nemotron-4-340b", "nemotron340b", 96,
          "family: gpt, hidden: 18432, heads: 96, kv_heads: 8, ffn: 73728, vocabulary: 256000, positions: rotary, "
          "biases: none"},
    Known{"nemotron-3-8b", "nemotron8b", 32,
          "family: gpt, hidden: 4096, heads: 32, vocabulary: 256000, positions: rotary, biases: none"},
    Known{"nemotron-3-22b", "nemotron22b", 40,
          "family: gpt, hidden: 6144, heads: 48, vocabulary: 256000, positions: rotary, biases: none"},
    Known{"gpt3-175b", "gpt3175b", 96, "family: gpt, hidden: 12288, heads: 96, vocabulary: 51200, max_positions: 2048"},
    Known{"gpt3-175b", "gpt175b", 96, "family: gpt, hidden: 12288, heads: 96, vocabulary: 51200, max_positions: 2048"},
    Known{"gpt3-175b", "nemomegatron", 96,
          "family: gpt, hidden: 12288, heads: 96, vocabulary: 51200, max_positions: 2048"},
    Known{"gpt3-20b", "gpt320b", 44, "family: gpt, hidden: 6144, heads: 48, vocabulary: 51200, max_positions: 2048"},
    Known{"opt-350m", "opt350m", 24,
          "family: gpt, hidden: 1024, heads: 16, vocabulary: 50272, max_positions: 2048, tied: true"},
    Known{"gpt-neo-2.7b", "gptneo2.7b", 32,
          "family: gpt, hidden: 2560, heads: 20, vocabulary: 50257, max_positions: 2048, tied: true"}};

std::string letters_of(const std::string& printed) {
  std::string letters;
  for (const char c : printed)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

}  // namespace

PublishedModel published_model(const std::string& printed) {
  const std::string letters = letters_of(printed);
  for (const Known& known : kModels)
    if (letters.find(known.letters) != std::string::npos) return {known.name, known.layers, known.shape};
  throw Unmapped(fmt::format("sizes of the model {:?} are not printed", printed));
}

std::string written_out(const PublishedModel& model, int layers) {
  return fmt::format("{{layers: {}, {}}}", layers > 0 ? layers : model.layers, model.shape);
}

}  // namespace trainyard
