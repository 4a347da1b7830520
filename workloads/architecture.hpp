// The shape of a decoder-only transformer, however it was written down.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// `learned_to_length`: a table as long as the training sequences; `alibi`: a bias of the scores, without weights; `none`: nothing says them.
enum class Positions { learned, learned_to_length, rotary, alibi, none };
enum class Norm { layer, layer_no_bias, rms };
/// Attention and then the MLP, or both on the same input (GPT-NeoX, PaLM) behind one norm or behind one each.
enum class Block { sequential, parallel, parallel_two_norms };
/// Which linear layers add a bias: none, only Q/K/V, the four attention matrices, or all.
enum class Biases { none, qkv, attention, all };

/// An encoder of images before a language model: patches, transformer layers that attend to all of an image, and projectors, which join
/// `merge` neighbouring patches into one token of the language model.
struct VisionTower {
  double layers = 0, hidden = 0, heads = 0, ffn = 0;
  double patch = 0;           ///< elements of a patch of the image
  double tokens = 0;          ///< patches of an image
  double positions = 0;       ///< rows of the table of learned positions; 0: rotary
  double extra = 0;           ///< further parameters: class token, positions of tiles
  double merge = 1;
  double frames = 1;          ///< frames of a video that a patch joins; an image is repeated as often
  double project = 0;         ///< width inside the projector; 0: one product
  double projectors = 1;      ///< the last layers' and those of layers before (DeepStack), which the language model adds
  bool audio = false;         ///< sounds instead of images: a patch is what a frame sees of them
  bool patch_bias = false, gated = false, qk_norm = false, end_norm = false, project_norm = false, layer_scales = false;
  Norm norm = Norm::layer;
  Biases biases = Biases::all;
  friend bool operator==(const VisionTower&, const VisionTower&) = default;
};

/// A UNet of convolutions (Stable Diffusion); a number for each level, the first of full resolution.
struct Unet {
  std::vector<double> channels, transformers, heads;  ///< transformer blocks behind each residual block (0: none) and their heads
  double layers = 0;          ///< residual blocks of a level on the way down; one more on the way up
  double latent = 0;          ///< channels of the latent image
  double conditions = 0;      ///< width of the vector of further conditions (sizes, pooled text); 0: none
  double text_tokens = 0, text_width = 0;
  friend bool operator==(const Unet&, const Unet&) = default;
};

/// Sizes are counts of elements. Field names are the keys of a model that is written out.
struct Architecture {
  std::string family = "gpt";  ///< whose defaults were used: "gpt" or "llama"
  double layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0;
  double ffn = 0;             ///< width of the MLP (of each half when gated)
  double vocabulary = 0;      ///< tokens, unpadded
  double max_positions = 0;   ///< rows of the table of learned positions (learned_to_length: where no length is known)
  double embedding_size = 0;  ///< width of the embedding table; completed to hidden. Else two products change the width
  double window = 0;          ///< tokens that a local layer attends to; 0: all layers attend to everything
  double global_every = 0;    ///< of so many layers the last one attends to everything; 0: none where `window` is set
  double experts = 0;         ///< MLPs of a layer among which each token takes `experts_per_token`; 0: one MLP
  double experts_per_token = 0;
  double expert_ffn = 0;      ///< width of an expert; completed to ffn
  double shared_ffn = 0;      ///< width of the experts that every token takes, together
  double dense_layers = 0;    ///< leading layers without experts
  double expert_every = 1;    ///< of so many of the others the last one has experts
  double prediction_layers = 0; ///< modules behind the last layer that predict further tokens (multi-token prediction)
  double query_latent = 0;    ///< multi-head latent attention: width between the two products of Q; 0: one product
  double key_value_latent = 0;///< the same of K and V; 0: no latent attention
  double rope_size = 0;       ///< latent attention: part of head_size that carries positions, of K shared by all heads
  double value_size = 0;      ///< width of a head of V; completed to head_size
  bool router_bias = false, expert_biases = false;
  bool shared_gate = false;   ///< the shared experts' output is scaled by a product of its own
  bool attention_sinks = false;  ///< a learned score a head (GPT-OSS)
  bool activation_clamp = false;  ///< both halves of a gated activation are clamped first (GPT-OSS)
  bool gated = false;         ///< the MLP multiplies by a second projection (SwiGLU and alike)
  bool tied = true;           ///< head and embedding share one table
  bool qk_norm = false;       ///< each head of Q and K is normalised
  bool post_norms = false;    ///< attention's and the MLP's output is normalised too, before it is added (Gemma 2, 3)
  bool embedding_norm = false;  ///< the embedding is normalised (BLOOM)
  Positions positions = Positions::learned;
  Norm norm = Norm::layer;
  Biases biases = Biases::all;
  Block block = Block::sequential;
  /// A letter a layer; "": attention and MLP in each. One branch behind a norm: M Mamba-2, * attention, - MLP. Of diffusion transformers: D
  /// image and text tokens with weights of their own that attend to each other, E the same where the text ends, S both with the same weights
  /// in a parallel block, X image tokens that also attend to the text.
  std::string pattern;
  double latent = 0;          ///< diffusion: elements of a patch of the latent image; then there is no vocabulary
  double text_tokens = 0, text_width = 0;   ///< diffusion: of the text; D, E and S count them in the sequence
  double conditioning = 0;    ///< diffusion: parameters of the products that make the vector of time and prompt
  double mamba_heads = 0, mamba_head_size = 0, state_size = 0, mamba_groups = 0, conv_size = 0, scan_chunk = 0;   ///< of Mamba-2 layers
  std::optional<VisionTower> vision{};
  std::optional<Unet> unet{};  ///< then nothing else counts
  friend bool operator==(const Architecture&, const Architecture&) = default;

  /// Width of Q: heads x head_size.
  [[nodiscard]] double query_width() const { return heads * head_size; }
  /// Width of attention's output.
  [[nodiscard]] double context_width() const { return heads * value_size; }
  [[nodiscard]] bool latent_attention() const { return key_value_latent > 0; }
  /// Whether decoder layer number `i` has experts.
  [[nodiscard]] bool is_sparse(int i) const {
    return experts > 0 && i >= int(dense_layers) && (i - int(dense_layers) + 1) % int(expert_every) == 0;
  }
  /// Width of Q, K and V together.
  [[nodiscard]] double qkv_width() const { return (heads + kv_heads) * head_size + kv_heads * value_size; }
  /// Width of Q and K together: what rotary positions and the norm of Q and K touch.
  [[nodiscard]] double query_key_width() const { return (heads + kv_heads) * head_size; }
  /// Whether a table of positions is added to the embedding.
  [[nodiscard]] bool position_table() const {
    return positions == Positions::learned || positions == Positions::learned_to_length;
  }
  /// Output width of the MLP's first product.
  [[nodiscard]] double mlp_up_width() const { return (gated ? 2 : 1) * ffn; }
  [[nodiscard]] bool is_diffusion() const { return latent > 0; }
  /// Width inside a Mamba-2 layer, and of what its convolution sees: x, B and C.
  [[nodiscard]] double mamba_width() const { return mamba_heads * mamba_head_size; }
  [[nodiscard]] double conv_width() const { return mamba_width() + 2 * mamba_groups * state_size; }
};

/// Defaults of a family: gpt has a plain MLP of 4 x hidden, learned positions, LayerNorm, biases and a tied head;
/// llama a gated MLP, rotary positions, RMSNorm, no biases and a head of its own.
[[nodiscard]] Architecture family_defaults(const std::string& family);

/// Fills what follows from the rest: kv_heads = heads, head_size = hidden / heads, ffn = 4 x hidden where not gated.
void complete(Architecture& architecture);

/// A size that contradicts another one. `key` is a field of Architecture.
struct ArchitectureProblem {
  std::string key, message;
};
/// Of a completed architecture; empty: it can be built.
[[nodiscard]] std::vector<ArchitectureProblem> problems(const Architecture& architecture);

/// Vocabulary as stored: padded to a multiple of 128 (Megatron pads to 128 x tensor size; that size is not known here).
[[nodiscard]] double padded_vocabulary(const Architecture& architecture);

/// "32 layers, hidden 4,096, 32 heads (8 for K and V), vocabulary 128,256".
[[nodiscard]] std::string describe(const Architecture& architecture);

/// What describe() leaves out, a line each.
[[nodiscard]] std::string details_text(const Architecture& architecture);

/// "6.74 B", "355 M": a count of parameters for people.
[[nodiscard]] std::string parameters_text(double parameters);

}  // namespace trainyard
