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

// Sizes: Llama 2 arXiv:2307.09288, Llama 3 arXiv:2407.21783, Mistral arXiv:2310.06825, Qwen2.5 arXiv:2412.15115 and
// their config.json; Nemotron-4 arXiv:2402.16819 and 2406.11704; GPT-3 arXiv:2005.14165 with Megatron's padded
// vocabulary; OPT arXiv:2205.01068, GPT-Neo its config.json. The first entry that fits counts.
constexpr std::array kModels{
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
