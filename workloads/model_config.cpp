#include "workloads/model_config.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <string_view>

#include "workloads/json_document.hpp"

namespace trainyard {
namespace {

/// The keys under which a layout keeps the sizes; "" where it has none.
struct Layout {
  const char *layers, *hidden, *heads, *kv_heads, *head_size, *ffn, *vocabulary, *max_positions;
};
constexpr Layout kHuggingFace{"num_hidden_layers", "hidden_size",       "num_attention_heads", "num_key_value_heads",
                              "head_dim",          "intermediate_size", "vocab_size",          ""};
constexpr Layout kGpt2{"n_layer", "n_embd", "n_head", "", "head_dim", "n_inner", "vocab_size", "n_positions"};
constexpr Layout kMeta{"n_layers", "dim", "n_heads", "n_kv_heads", "head_dim", "ffn_dim", "vocab_size", ""};

class ConfigReader {
 public:
  ConfigReader(const JsonDocument& json, Diagnostics& diagnostics)
      : json_(json), diagnostics_(diagnostics), name_(json.first_text("architectures")) {}

  std::optional<Architecture> run() {
    const std::size_t before = diagnostics_.all().size();
    const Layout* layout = find_layout();
    if (layout == nullptr) return std::nullopt;
    Architecture result = sizes(*layout);
    family_traits(result);
    if (diagnostics_.all().size() == before) contradictions(*layout, result);
    if (diagnostics_.all().size() != before) return std::nullopt;
    return result;
  }

 private:
  void refuse(std::string_view key, std::string_view what) {
    const std::string who = name_.empty() ? "" : printable_name() + ": ";
    diagnostics_.add(json_.place(key), fmt::format("{}{} not simulated yet", who, what));
  }

  /// Letters, digits and underscores of the architecture's name: it goes to a terminal.
  std::string printable_name() const {
    std::string result = name_.substr(0, 60);
    std::erase_if(result, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    return result;
  }

  const Layout* find_layout() {
    if (json_.mentions("expert")) return refuse("architectures", "mixture of experts is"), nullptr;
    if (json_.mentions("vision") || json_.mentions("image")) return refuse("architectures", "images are"), nullptr;
    if (json_.mentions("mamba")) return refuse("architectures", "state-space layers are"), nullptr;
    if (json_.mentions("nextn")) return refuse("architectures", "multi-token prediction is"), nullptr;
    if (name_ == "GPT2LMHeadModel") return &kGpt2;
    for (const char* known :
         {"LlamaForCausalLM", "MistralForCausalLM", "Phi3ForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"})
      if (name_ == known) return &kHuggingFace;
    if (!name_.empty()) return refuse("architectures", "this architecture is"), nullptr;
    if (json_.has("dim")) return &kMeta;
    if (json_.has("n_embd")) return &kGpt2;
    diagnostics_.add(json_.place("architectures"),
                     "neither `architectures` nor the keys of a known layout (n_embd, dim)");
    return nullptr;
  }

  double required(const char* key) {
    if (!json_.has(key)) diagnostics_.add(json_.place(key), fmt::format("`{}` is missing", key));
    return json_.number(key, 0, diagnostics_);
  }

  /// 0 where the layout has no such key, or the file lacks it.
  double optional(const char* key) {
    if (*key == '\0' || !json_.has(key)) return 0;
    const std::size_t before = diagnostics_.all().size();
    const double value = json_.number(key, 0, diagnostics_);
    if (value == 0 && diagnostics_.all().size() == before)
      diagnostics_.add(json_.place(key), "must be at least 1, got 0");
    return value;
  }

  Architecture sizes(const Layout& layout) {
    Architecture a = family_defaults(&layout == &kGpt2 ? "gpt" : "llama");
    a.layers = required(layout.layers);
    a.hidden = required(layout.hidden);
    a.heads = required(layout.heads);
    a.vocabulary = required(layout.vocabulary);
    a.kv_heads = optional(layout.kv_heads);
    a.head_size = optional(layout.head_size);
    a.ffn = &layout == &kHuggingFace ? required(layout.ffn) : optional(layout.ffn);
    if (&layout == &kMeta && a.ffn == 0) a.ffn = meta_ffn(a.hidden);
    if (*layout.max_positions != '\0') a.max_positions = required(layout.max_positions);
    complete(a);
    return a;
  }

  /// Two thirds of 4 x hidden, scaled, rounded up: meta-llama/llama, llama/model.py, FeedForward.
  double meta_ffn(double hidden) {
    const double two_thirds = std::floor(2 * 4 * hidden / 3);
    const double scaled = std::floor(two_thirds * json_.number("ffn_dim_multiplier", 1, diagnostics_));
    const double multiple = json_.number("multiple_of", 256, diagnostics_);
    return multiple >= 1 ? std::ceil(scaled / multiple) * multiple : scaled;
  }

  void family_traits(Architecture& a) {
    a.tied = json_.boolean("tie_word_embeddings", a.tied, diagnostics_);
    a.qk_norm = name_ == "Qwen3ForCausalLM";
    if (a.family == "gpt") return;
    const bool attention_bias = json_.boolean("attention_bias", false, diagnostics_);
    const bool mlp_bias = json_.boolean("mlp_bias", false, diagnostics_);
    if (name_ == "Qwen2ForCausalLM") a.biases = Biases::qkv;
    if (attention_bias) a.biases = mlp_bias ? Biases::all : Biases::attention;
    if (mlp_bias && !attention_bias) refuse("mlp_bias", "a bias in the MLP alone is");
    sliding_window();
  }

  void sliding_window() {
    if (!json_.boolean("use_sliding_window", true, diagnostics_)) return;
    const double window = json_.number("sliding_window", 0, diagnostics_);
    const double positions = json_.number("max_position_embeddings", 0, diagnostics_);
    if (window > 0 && (positions == 0 || window < positions))
      refuse("sliding_window", "a sliding window of attention is");
  }

  void contradictions(const Layout& layout, const Architecture& a) {
    for (const ArchitectureProblem& problem : problems(a))
      diagnostics_.add(json_.place(key_of(layout, problem.key)), problem.message);
  }

  static std::string_view key_of(const Layout& layout, std::string_view field) {
    if (field == "layers") return layout.layers;
    if (field == "hidden") return layout.hidden;
    if (field == "heads") return layout.heads;
    if (field == "kv_heads") return layout.kv_heads;
    if (field == "head_size") return layout.head_size;
    if (field == "ffn") return layout.ffn;
    if (field == "vocabulary") return layout.vocabulary;
    return layout.max_positions;
  }

  const JsonDocument& json_;
  Diagnostics& diagnostics_;
  std::string name_;
};

}  // namespace

std::optional<Architecture> read_model_config(const std::string& text, const std::string& file_name,
                                              Diagnostics& diagnostics) {
  const std::optional<JsonDocument> json = JsonDocument::parse(text, file_name, diagnostics);
  if (!json) return std::nullopt;
  return ConfigReader(*json, diagnostics).run();
}

}  // namespace trainyard
