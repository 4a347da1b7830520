#include "workloads/architecture.hpp"

#include <fmt/format.h>

#include <cmath>

namespace trainyard {
namespace {

constexpr double kVocabularyMultiple = 128;
constexpr double kMaxLayers = 1e4, kMaxWidth = 1e7, kMaxVocabulary = 1e8;

class Checker {
 public:
  explicit Checker(const Architecture& architecture) : a_(architecture) {}

  std::vector<ArchitectureProblem> run() {
    size("layers", a_.layers, kMaxLayers);
    size("hidden", a_.hidden, kMaxWidth);
    size("heads", a_.heads, kMaxWidth);
    size("kv_heads", a_.kv_heads, kMaxWidth);
    size("ffn", a_.ffn, kMaxWidth);
    if (!a_.is_diffusion()) size("vocabulary", a_.vocabulary, kMaxVocabulary);
    if (found_.empty()) heads();
    size("embedding_size", a_.embedding_size, kMaxWidth);
    if (a_.experts > 0) experts();
    if (a_.latent_attention() && !(a_.rope_size >= 1 && a_.rope_size < a_.head_size))
      add("rope_size", fmt::format("rope_size must be from 1 to less than head_size {:.0f}, got {:g}", a_.head_size, a_.rope_size));
    if (!a_.latent_attention() && (a_.query_latent > 0 || a_.rope_size > 0))
      add("key_value_latent", "query_latent and rope_size go with key_value_latent");
    windows();
    if (!a_.pattern.empty()) pattern();
    if (a_.is_diffusion() && a_.pattern.empty()) add("latent", "latent needs a pattern of D, E, S and X");
    if (a_.vision) vision(*a_.vision);
    if (a_.position_table() && a_.max_positions < 1)
      add("max_positions", "learned positions need max_positions, the rows of their table");
    return std::move(found_);
  }

 private:
  void add(std::string key, std::string message) { found_.push_back({std::move(key), std::move(message)}); }

  void size(const char* key, double value, double highest) {
    if (!(value >= 1 && value <= highest) || value != std::floor(value))
      add(key, fmt::format("{} must be a whole number from 1 to {:.0f}, got {:g}", key, highest, value));
  }

  void windows() {
    if (a_.window != std::floor(a_.window) || a_.window < 0)
      add("window", fmt::format("window must be a whole number of tokens, got {:g}", a_.window));
    if (a_.global_every != 0 && a_.window == 0) add("global_every", "global_every needs a window for the other layers");
  }

  void pattern() {
    if (double(a_.pattern.size()) != a_.layers) add("pattern", fmt::format("pattern names {} layers, not {:.0f}", a_.pattern.size(), a_.layers));
    if (a_.pattern.find_first_not_of(a_.is_diffusion() ? "DESX" : "M*-E") != std::string::npos)
      add("pattern", fmt::format("pattern holds letters other than {}", a_.is_diffusion() ? "D, E, S and X" : "M, *, - and E"));
    const bool routed = !a_.is_diffusion() && a_.pattern.find('E') != std::string::npos;
    if (routed != (a_.experts > 0)) add("pattern", "the letter E of a pattern and experts go together");
    if (a_.dense_layers > 0 || a_.expert_every > 1 || a_.window > 0 || a_.block != Block::sequential || a_.latent_attention())
      add("pattern", "pattern with dense_layers, expert_every, a window, parallel blocks or latent attention: not simulated yet");
    if (a_.pattern.find('M') == std::string::npos) return;
    for (const auto& [key, value] : {std::pair("mamba_heads", a_.mamba_heads), std::pair("mamba_head_size", a_.mamba_head_size),
                                     std::pair("state_size", a_.state_size), std::pair("mamba_groups", a_.mamba_groups),
                                     std::pair("conv_size", a_.conv_size), std::pair("scan_chunk", a_.scan_chunk)})
      size(key, value, kMaxWidth);
  }

  void vision(const VisionTower& tower) {
    if (std::fmod(tower.hidden, tower.heads) != 0)
      add("vision", fmt::format("vision: {:.0f} heads do not divide hidden {:.0f}", tower.heads, tower.hidden));
    if (std::fmod(tower.tokens, tower.merge) != 0)
      add("vision", fmt::format("vision: {:.0f} patches do not divide by merge {:.0f}", tower.tokens, tower.merge));
  }

  void experts() {
    size("experts", a_.experts, 1e5);
    size("experts_per_token", a_.experts_per_token, a_.experts);
    size("expert_ffn", a_.expert_ffn, kMaxWidth);
    size("expert_every", a_.expert_every, kMaxLayers);
    if (a_.block != Block::sequential) add("experts", "experts in a parallel block are not simulated yet");
    if (a_.dense_layers >= a_.layers)
      add("dense_layers", fmt::format("{:.0f} dense layers leave none of {:.0f} for experts", a_.dense_layers, a_.layers));
  }

  void heads() {
    if (a_.head_size != std::floor(a_.head_size) || a_.head_size < 1)
      add("heads", fmt::format("{:.0f} heads do not divide hidden {:.0f}; give head_size", a_.heads, a_.hidden));
    else if (a_.head_size > kMaxWidth)
      size("head_size", a_.head_size, kMaxWidth);
    if (std::fmod(a_.heads, a_.kv_heads) != 0)
      add("kv_heads", fmt::format("{:.0f} kv_heads do not divide {:.0f} heads", a_.kv_heads, a_.heads));
  }

  const Architecture& a_;
  std::vector<ArchitectureProblem> found_;
};

/// 12345 -> "12,345".
std::string grouped(double count) {
  std::string text = fmt::format("{:.0f}", count);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

Architecture family_defaults(const std::string& family) {
  Architecture result;
  if (family == "gpt") return result;
  result.family = family;
  result.gated = true;
  result.tied = false;
  result.positions = Positions::rotary;
  result.norm = Norm::rms;
  result.biases = Biases::none;
  return result;
}

void complete(Architecture& architecture) {
  if (architecture.kv_heads == 0) architecture.kv_heads = architecture.heads;
  if (architecture.head_size == 0 && architecture.heads > 0)
    architecture.head_size = architecture.hidden / architecture.heads;
  if (architecture.value_size == 0) architecture.value_size = architecture.head_size;
  if (architecture.expert_ffn == 0 && architecture.experts > 0) architecture.expert_ffn = architecture.ffn;
  if (architecture.embedding_size == 0) architecture.embedding_size = architecture.hidden;
  if (architecture.ffn == 0 && !architecture.gated) architecture.ffn = 4 * architecture.hidden;
}

std::vector<ArchitectureProblem> problems(const Architecture& architecture) { return Checker(architecture).run(); }

double padded_vocabulary(const Architecture& architecture) {
  return std::ceil(architecture.vocabulary / kVocabularyMultiple) * kVocabularyMultiple;
}

std::string describe(const Architecture& a) {
  const std::string shared = a.kv_heads == a.heads ? "" : fmt::format(" ({:.0f} for K and V)", a.kv_heads);
  const std::string window = a.window == 0 ? "" : fmt::format(", window {}", grouped(a.window));
  const std::string experts = a.experts == 0 ? "" : fmt::format(", {:.0f} of {:.0f} experts", a.experts_per_token, a.experts);
  if (a.unet) return fmt::format("UNet, {} levels, {} to {} channels, diffusion", a.unet->channels.size(), grouped(a.unet->channels.front()), grouped(a.unet->channels.back()));
  if (a.is_diffusion()) return fmt::format("{:.0f} layers, hidden {}, {:.0f} heads, diffusion", a.layers, grouped(a.hidden), a.heads);
  return fmt::format("{:.0f} layers, hidden {}, {:.0f} heads{}{}, vocabulary {}{}", a.layers, grouped(a.hidden), a.heads,
                     shared, experts, grouped(a.vocabulary), window);
}

namespace {

std::string unet_details(const Unet& unet) {
  std::string text;
  for (std::size_t level = 0; level < unet.channels.size(); ++level)
    text += fmt::format("level {}: {} channels, {:.0f} transformer blocks of {:.0f} heads behind each residual block\n", level, grouped(unet.channels[level]),
                        unet.transformers[level], unet.heads[level]);
  return text + fmt::format("text: {:.0f} tokens, {} wide\n", unet.text_tokens, grouped(unet.text_width));
}

}  // namespace

std::string details_text(const Architecture& a) {
  if (a.unet) return unet_details(*a.unet);
  constexpr const char* kPositions[] = {"learned", "learned, as long as the sequences", "rotary", "ALiBi", "none"};
  constexpr const char* kNorms[] = {"LayerNorm", "LayerNorm without bias", "RMSNorm"};
  constexpr const char* kBiases[] = {"none", "Q, K and V", "attention", "all"};
  constexpr const char* kBlocks[] = {"attention, then MLP", "attention and MLP behind one norm, added together",
                                     "attention and MLP behind a norm each, added together"};
  std::string text = fmt::format("block: {}\nMLP: {}, {}\npositions: {}\nnorm: {}{}{}{}\nbiases: {}\nhead: {}\n",
                                 kBlocks[static_cast<int>(a.block)], grouped(a.ffn), a.gated ? "gated" : "plain",
                                 kPositions[static_cast<int>(a.positions)], kNorms[static_cast<int>(a.norm)],
                                 a.qk_norm ? ", of Q and K too" : "", a.post_norms ? ", after branches too" : "",
                                 a.embedding_norm ? ", of the embedding too" : "", kBiases[static_cast<int>(a.biases)],
                                 a.tied ? "shares the embedding's table" : "a table of its own");
  if (a.experts > 0)
    text += fmt::format("experts: {:.0f} of {:.0f} a token, {} wide each{}{}{}\n", a.experts_per_token, a.experts, grouped(a.expert_ffn),
                        a.shared_ffn > 0 ? fmt::format(", and {} shared", grouped(a.shared_ffn)) : "",
                        a.dense_layers > 0 ? fmt::format(", not in the first {:.0f} layers", a.dense_layers) : "",
                        a.expert_every > 1 ? fmt::format(", in 1 layer of {:.0f}", a.expert_every) : "");
  if (a.prediction_layers > 0) text += fmt::format("further tokens predicted: {:.0f}\n", a.prediction_layers);
  if (a.latent_attention())
    text += fmt::format("latent attention: Q from {}, K and V from {}, heads {:.0f} ({:.0f} with positions) and {:.0f}\n",
                        a.query_latent > 0 ? grouped(a.query_latent) : "all", grouped(a.key_value_latent), a.head_size, a.rope_size, a.value_size);
  if (a.is_diffusion())
    text += fmt::format("layers: {} (D, E: image and text apart, S: together, X: cross-attention), {} text tokens\n", a.pattern, grouped(a.text_tokens));
  else if (!a.pattern.empty())
    text += fmt::format("layers: {} (M: Mamba-2, {:.0f} heads of {:.0f}, state {:.0f}; *: attention; -: MLP{})\n", a.pattern, a.mamba_heads,
                        a.mamba_head_size, a.state_size, a.experts > 0 ? "; E: experts" : "");
  if (a.vision)
    text += fmt::format("{}: {:.0f} layers, hidden {}, {:.0f} heads, {} patches, {:.0f} to a token\n", a.vision->audio ? "sounds" : "images", a.vision->layers, grouped(a.vision->hidden),
                        a.vision->heads, grouped(a.vision->tokens), a.vision->merge);
  if (a.window > 0)
    text += fmt::format("window: {} tokens{}\n", grouped(a.window),
                        a.global_every > 0 ? fmt::format(", but in 1 layer of {:.0f}", a.global_every) : "");
  return text;
}

std::string parameters_text(double parameters) {
  if (parameters >= 999.5e9) return fmt::format("{:.3g} T", parameters / 1e12);
  if (parameters >= 999.5e6) return fmt::format("{:.3g} B", parameters / 1e9);
  return fmt::format("{:.3g} M", parameters / 1e6);
}

}  // namespace trainyard
