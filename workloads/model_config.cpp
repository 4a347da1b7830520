#include "workloads/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

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

constexpr Layout kDbrx{"n_layers", "d_model", "n_heads", "", "", "", "vocab_size", ""};

enum class Window { none, all_layers, by_pattern, every_second };

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
    {"MixtralForCausalLM", &kHuggingFace, "llama", false, Window::all_layers},
    {"DeepseekV2ForCausalLM", &kHuggingFace, "llama", false, Window::none},
    {"DeepseekV3ForCausalLM", &kHuggingFace, "llama", false, Window::none},
    {"Qwen2MoeForCausalLM", &kHuggingFace, "llama", false, Window::none},
    {"Qwen3MoeForCausalLM", &kHuggingFace, "llama", false, Window::none},
    {"GptOssForCausalLM", &kHuggingFace, "llama", false, Window::every_second},
    {"DbrxForCausalLM", &kDbrx, "llama", false, Window::none},
    {"Grok1ForCausalLM", &kHuggingFace, "llama", true, Window::none},
    {"Grok1ModelForCausalLM", &kHuggingFace, "llama", true, Window::none},
    {"Llama4ForCausalLM", &kHuggingFace, "llama", false, Window::none},
};
/// Those with experts, and where a layout keeps them.
constexpr const char* kSparse[] = {"MixtralForCausalLM",  "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Qwen2MoeForCausalLM",
                                   "Qwen3MoeForCausalLM", "GptOssForCausalLM",     "DbrxForCausalLM",       "Grok1ForCausalLM",
                                   "Grok1ModelForCausalLM", "Llama4ForCausalLM"};
/// Files without `architectures`.
constexpr Known kMetaFile{"", &kMeta, "llama", false, Window::none};
constexpr Known kGpt2File{"", &kGpt2, "gpt", true, Window::none};

class ConfigReader {
 public:
  ConfigReader(const JsonDocument& json, std::string name, Diagnostics& diagnostics)
      : json_(json), diagnostics_(diagnostics), name_(std::move(name)) {}

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
    if (json_.mentions("expert") && !is_sparse()) return refuse("architectures", "mixture of experts is"), nullptr;
    if (json_.mentions("vision") || json_.mentions("image")) return refuse("architectures", "images are"), nullptr;
    if (json_.mentions("mamba")) return refuse("architectures", "state-space layers are"), nullptr;
    if (json_.mentions("nextn") && !is_sparse()) return refuse("architectures", "multi-token prediction is"), nullptr;
    for (const Known& known : kKnown)
      if (name_ == known.name) return &known;
    if (!name_.empty()) return refuse("architectures", "this architecture is"), nullptr;
    if (json_.has("dim")) return &kMetaFile;
    if (json_.has("n_embd")) return &kGpt2File;
    diagnostics_.add(json_.place("architectures"),
                     "neither `architectures` nor the keys of a known layout (n_embd, dim)");
    return nullptr;
  }

  bool is_sparse() const {
    return std::ranges::find(kSparse, name_) != std::end(kSparse);
  }

  /// The spelling that the file uses, else the first.
  std::string_view spelling(std::string_view keys) const {
    for (std::string_view rest = keys; !rest.empty();) {
      const std::size_t bar = rest.find('|');
      if (json_.has(rest.substr(0, bar))) return rest.substr(0, bar);
      rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
    }
    return keys.substr(0, keys.find('|'));
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
    a.qk_norm = name_ == "Qwen3ForCausalLM" || name_ == "Gemma3ForCausalLM" || name_ == "Qwen3MoeForCausalLM";
    a.post_norms = known.window == Window::by_pattern || name_.starts_with("Grok1");
    if (name_ == "DbrxForCausalLM")
      dbrx(a);
    else if (is_sparse())
      experts(a);
    if (json_.has("kv_lora_rank")) latent_attention(a);
    if (known.family == std::string_view("llama")) biases(a);
    window(known, a);
  }

  /// Experts by the keys of Mixtral, DeepSeek, Qwen, GPT-OSS, Grok and Llama 4. What predicts tokens ahead (DeepSeek) is left out.
  void experts(Architecture& a) {
    a.experts = required("num_local_experts|n_routed_experts|num_experts");
    a.experts_per_token = required("num_experts_per_tok");
    a.expert_ffn = json_.has("moe_intermediate_size") ? required("moe_intermediate_size") : a.ffn;
    a.shared_ffn = json_.number("n_shared_experts", 0, diagnostics_) * a.expert_ffn + json_.number("shared_expert_intermediate_size", 0, diagnostics_);
    a.dense_layers = json_.number("first_k_dense_replace", 0, diagnostics_);
    a.expert_every = json_.number("interleave_moe_layer_step", json_.number("decoder_sparse_step", 1, diagnostics_), diagnostics_);
    if (json_.number("moe_layer_freq", 1, diagnostics_) != 1) refuse("moe_layer_freq", "experts in some layers only are");
    if (json_.length("mlp_only_layers") > 0) refuse("mlp_only_layers", "single layers without experts are");
    a.shared_gate = name_ == "Qwen2MoeForCausalLM";
    if (name_ == "MixtralForCausalLM" && a.kv_heads == 0) a.kv_heads = 8;  // default of transformers' MixtralConfig
    a.router_bias = name_ == "DeepseekV3ForCausalLM" || name_ == "GptOssForCausalLM";
    a.expert_biases = a.attention_sinks = a.activation_clamp = name_ == "GptOssForCausalLM";
    if (name_ != "Llama4ForCausalLM") return;
    a.shared_ffn = a.expert_ffn;
    a.ffn = json_.number("intermediate_size_mlp", a.ffn, diagnostics_);
  }

  void latent_attention(Architecture& a) {
    a.query_latent = json_.number("q_lora_rank", 0, diagnostics_);
    a.key_value_latent = required("kv_lora_rank");
    a.rope_size = required("qk_rope_head_dim");
    a.value_size = required("v_head_dim");
    a.head_size = required("qk_nope_head_dim") + a.rope_size;
    a.kv_heads = a.heads;
  }

  void dbrx(Architecture& a) {
    const JsonDocument attention = json_.object("attn_config", diagnostics_), mlp = json_.object("ffn_config", diagnostics_);
    a.kv_heads = attention.number("kv_n_heads", 0, diagnostics_);
    a.ffn = a.expert_ffn = mlp.number("ffn_hidden_size", 0, diagnostics_);
    a.experts = mlp.number("moe_num_experts", 0, diagnostics_);
    a.experts_per_token = mlp.number("moe_top_k", 0, diagnostics_);
    a.norm = Norm::layer_no_bias;
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
    if (name_ == "Qwen2ForCausalLM" || name_ == "Qwen2MoeForCausalLM") a.biases = Biases::qkv;
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
    if (known.window == Window::every_second) return void(a.global_every = 2);
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
  const std::string name = json->first_text("architectures");
  // The language model alone, where the file has no encoder of images.
  if (name == "Llama4ForConditionalGeneration" && json->has("text_config") && !json->mentions("vision"))
    return ConfigReader(json->object("text_config", diagnostics), "Llama4ForCausalLM", diagnostics).run();
  return ConfigReader(*json, name, diagnostics).run();
}

}  // namespace trainyard
