#include "workloads/model_config.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <string_view>

#include "workloads/json_document.hpp"

namespace trainyard {
namespace {

/// The keys under which a layout keeps the sizes; "" where it has none, "a|b" where it has two spellings.
struct Layout {
  const char *layers, *hidden, *heads, *kv_heads, *head_size, *ffn, *vocabulary, *max_positions;
};
constexpr Layout kHuggingFace{"num_hidden_layers", "hidden_size",       "num_attention_heads", "num_key_value_heads",
                              "head_dim",          "intermediate_size", "vocab_size",          ""};
constexpr Layout kGpt2{"n_layer", "n_embd", "n_head", "", "head_dim", "n_inner", "vocab_size", "n_positions"};
constexpr Layout kMeta{"n_layers", "dim", "n_heads", "n_kv_heads", "head_dim", "ffn_dim", "vocab_size", ""};
constexpr Layout kOpt{"num_hidden_layers", "hidden_size", "num_attention_heads",    "", "",
                      "ffn_dim",           "vocab_size",  "max_position_embeddings"};
constexpr Layout kBloom{
    "n_layer|num_hidden_layers", "hidden_size|n_embed", "n_head|num_attention_heads", "", "", "", "vocab_size", ""};
constexpr Layout kMpt{"n_layers", "d_model", "n_heads", "", "", "", "vocab_size", "max_seq_len"};

enum class Window { none, all_layers, by_pattern };

/// What an architecture's name says: where its sizes stand, and what follows without being written.
struct Known {
  const char* name;
  const Layout* layout;
  const char* family;
  bool tied;      ///< where `tie_word_embeddings` is absent
  Window window;  ///< which layers `sliding_window` holds for
};
constexpr Known kKnown[] = {
    {"GPT2LMHeadModel", &kGpt2, "gpt", true, Window::none},
    {"OPTForCausalLM", &kOpt, "gpt", true, Window::none},
    {"BloomForCausalLM", &kBloom, "gpt", true, Window::none},
    {"MPTForCausalLM", &kMpt, "gpt", true, Window::none},
    {"MptForCausalLM", &kMpt, "gpt", true, Window::none},
    {"GPTNeoXForCausalLM", &kHuggingFace, "gpt", false, Window::none},
    {"LlamaForCausalLM", &kHuggingFace, "llama", false, Window::none},
    {"MistralForCausalLM", &kHuggingFace, "llama", false, Window::all_layers},
    {"Phi3ForCausalLM", &kHuggingFace, "llama", false, Window::all_layers},
    {"Qwen2ForCausalLM", &kHuggingFace, "llama", false, Window::none},
    {"Qwen3ForCausalLM", &kHuggingFace, "llama", false, Window::none},
    {"GemmaForCausalLM", &kHuggingFace, "llama", true, Window::none},
    {"Gemma2ForCausalLM", &kHuggingFace, "llama", true, Window::by_pattern},
    {"Gemma3ForCausalLM", &kHuggingFace, "llama", true, Window::by_pattern},
    {"NemotronForCausalLM", &kHuggingFace, "llama", false, Window::none},
};
/// Files without `architectures`.
constexpr Known kMetaFile{"", &kMeta, "llama", false, Window::none};
constexpr Known kGpt2File{"", &kGpt2, "gpt", true, Window::none};

class ConfigReader {
 public:
  ConfigReader(const JsonDocument& json, Diagnostics& diagnostics)
      : json_(json), diagnostics_(diagnostics), name_(json.first_text("architectures")) {}

  std::optional<Architecture> run() {
    const std::size_t before = diagnostics_.all().size();
    const Known* known = find_known();
    if (known == nullptr) return std::nullopt;
    Architecture result = sizes(*known);
    traits(*known, result);
    complete(result);
    if (diagnostics_.all().size() == before) contradictions(*known->layout, result);
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

  const Known* find_known() {
    if (json_.mentions("expert")) return refuse("architectures", "mixture of experts is"), nullptr;
    if (json_.mentions("vision") || json_.mentions("image")) return refuse("architectures", "images are"), nullptr;
    if (json_.mentions("mamba")) return refuse("architectures", "state-space layers are"), nullptr;
    if (json_.mentions("nextn")) return refuse("architectures", "multi-token prediction is"), nullptr;
    for (const Known& known : kKnown)
      if (name_ == known.name) return &known;
    if (!name_.empty()) return refuse("architectures", "this architecture is"), nullptr;
    if (json_.has("dim")) return &kMetaFile;
    if (json_.has("n_embd")) return &kGpt2File;
    diagnostics_.add(json_.place("architectures"),
                     "neither `architectures` nor the keys of a known layout (n_embd, dim)");
    return nullptr;
  }

  /// The spelling that the file uses, else the first.
  std::string_view spelling(std::string_view keys) const {
    const std::size_t bar = keys.find('|');
    if (bar == std::string_view::npos) return keys;
    return json_.has(keys.substr(0, bar)) || !json_.has(keys.substr(bar + 1)) ? keys.substr(0, bar)
                                                                              : keys.substr(bar + 1);
  }

  double required(std::string_view keys) {
    const std::string_view key = spelling(keys);
    if (!json_.has(key)) diagnostics_.add(json_.place(key), fmt::format("`{}` is missing", key));
    return json_.number(key, 0, diagnostics_);
  }

  /// 0 where the layout has no such key, or the file lacks it.
  double optional(std::string_view key) {
    if (key.empty() || !json_.has(key)) return 0;
    const std::size_t before = diagnostics_.all().size();
    const double value = json_.number(key, 0, diagnostics_);
    if (value == 0 && diagnostics_.all().size() == before)
      diagnostics_.add(json_.place(key), "must be at least 1, got 0");
    return value;
  }

  Architecture sizes(const Known& known) {
    const Layout& layout = *known.layout;
    Architecture a = family_defaults(known.family);
    a.layers = required(layout.layers);
    a.hidden = required(layout.hidden);
    a.heads = required(layout.heads);
    a.vocabulary = required(layout.vocabulary);
    a.kv_heads = optional(layout.kv_heads);
    a.head_size = optional(layout.head_size);
    a.ffn = &layout == &kHuggingFace ? required(layout.ffn) : optional(layout.ffn);
    if (&layout == &kMeta && a.ffn == 0) a.ffn = meta_ffn(a.hidden);
    if (*layout.max_positions != '\0') a.max_positions = required(layout.max_positions);
    return a;
  }

  /// Two thirds of 4 x hidden, scaled, rounded up: meta-llama/llama, llama/model.py, FeedForward.
  double meta_ffn(double hidden) {
    const double two_thirds = std::floor(2 * 4 * hidden / 3);
    const double scaled = std::floor(two_thirds * json_.number("ffn_dim_multiplier", 1, diagnostics_));
    const double multiple = json_.number("multiple_of", 256, diagnostics_);
    return multiple >= 1 ? std::ceil(scaled / multiple) * multiple : scaled;
  }

  bool flag(std::string_view key, bool fallback) { return json_.boolean(key, fallback, diagnostics_); }

  void traits(const Known& known, Architecture& a) {
    a.tied = flag("tie_word_embeddings", known.tied);
    if (name_ == "OPTForCausalLM") opt(a);
    if (name_ == "BloomForCausalLM") bloom(a);
    if (known.layout == &kMpt) mpt(a);
    if (name_ == "GPTNeoXForCausalLM") neox(a);
    if (name_ == "NemotronForCausalLM") nemotron(a);
    a.qk_norm = name_ == "Qwen3ForCausalLM" || name_ == "Gemma3ForCausalLM";
    a.post_norms = known.window == Window::by_pattern;
    if (known.family == std::string_view("llama")) biases(a);
    window(known, a);
  }

  void opt(Architecture& a) {
    a.embedding_size = optional("word_embed_proj_dim");
    if (!flag("enable_bias", true)) a.biases = Biases::none;
  }

  static void bloom(Architecture& a) {
    a.positions = Positions::alibi;
    a.embedding_norm = true;
  }

  void mpt(Architecture& a) {
    const JsonDocument attention = json_.object("attn_config", diagnostics_);
    if (attention.boolean("alibi", false, diagnostics_))
      a.positions = Positions::alibi;
    else if (attention.boolean("rope", false, diagnostics_))
      a.positions = Positions::rotary;
    a.kv_heads = attention.number("kv_n_heads", 0, diagnostics_);
    a.ffn = json_.number("expansion_ratio", 4, diagnostics_) * a.hidden;
    if (!flag("no_bias", true)) return;
    a.biases = Biases::none;
    a.norm = Norm::layer_no_bias;
  }

  void neox(Architecture& a) {
    a.positions = Positions::rotary;
    if (flag("use_parallel_residual", true)) a.block = Block::parallel_two_norms;
    if (!flag("attention_bias", true)) refuse("attention_bias", "a bias in the MLP alone is");
  }

  static void nemotron(Architecture& a) {
    a.gated = false;
    a.norm = Norm::layer;
  }

  void biases(Architecture& a) {
    const bool attention_bias = flag("attention_bias", false);
    const bool mlp_bias = flag("mlp_bias", false);
    if (name_ == "Qwen2ForCausalLM") a.biases = Biases::qkv;
    if (attention_bias) a.biases = mlp_bias ? Biases::all : Biases::attention;
    if (mlp_bias && !attention_bias) refuse("mlp_bias", "a bias in the MLP alone is");
  }

  /// Gemma 2 attends locally in every second layer, Gemma 3 in five of six unless it says otherwise.
  void window(const Known& known, Architecture& a) {
    if (!flag("use_sliding_window", true)) return;
    const double window = json_.number("sliding_window", 0, diagnostics_);
    const double positions = json_.number("max_position_embeddings", 0, diagnostics_);
    if (window == 0 || (positions > 0 && window >= positions)) return;
    if (known.window == Window::none) return refuse("sliding_window", "a sliding window of attention is");
    a.window = window;
    if (known.window == Window::all_layers) return;
    a.global_every = json_.number("sliding_window_pattern", name_ == "Gemma2ForCausalLM" ? 2 : 6, diagnostics_);
  }

  void contradictions(const Layout& layout, const Architecture& a) {
    for (const ArchitectureProblem& problem : problems(a))
      diagnostics_.add(json_.place(spelling(key_of(layout, problem.key))), problem.message);
  }

  static std::string_view key_of(const Layout& layout, std::string_view field) {
    if (field == "layers") return layout.layers;
    if (field == "hidden") return layout.hidden;
    if (field == "heads") return layout.heads;
    if (field == "kv_heads") return layout.kv_heads;
    if (field == "head_size") return layout.head_size;
    if (field == "ffn") return layout.ffn;
    if (field == "vocabulary") return layout.vocabulary;
    if (field == "window") return "sliding_window";
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
