// The shape of a decoder-only transformer, however it was written down.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

enum class Positions { learned, rotary };
enum class Norm { layer, rms };
/// Which linear layers add a bias: none, only Q/K/V, the four attention matrices, or all.
enum class Biases { none, qkv, attention, all };

/// Sizes are counts of elements. Field names are the keys of a model that is written out.
struct Architecture {
  std::string family = "gpt";  ///< whose defaults were used: "gpt" or "llama"
  double layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0;
  double ffn = 0;            ///< width of the MLP (of each half when gated)
  double vocabulary = 0;     ///< tokens, unpadded
  double max_positions = 0;  ///< rows of the table of learned positions; 0: none
  bool gated = false;        ///< the MLP multiplies by a second projection (SwiGLU and alike)
  bool tied = true;          ///< head and embedding share one table
  bool qk_norm = false;      ///< each head of Q and K is normalised
  Positions positions = Positions::learned;
  Norm norm = Norm::layer;
  Biases biases = Biases::all;
  friend bool operator==(const Architecture&, const Architecture&) = default;

  /// Width of Q, and of attention's output: heads x head_size.
  [[nodiscard]] double query_width() const { return heads * head_size; }
  /// Width of Q, K and V together.
  [[nodiscard]] double qkv_width() const { return (heads + 2 * kv_heads) * head_size; }
  /// Width of Q and K together: what rotary positions and the norm of Q and K touch.
  [[nodiscard]] double query_key_width() const { return (heads + kv_heads) * head_size; }
  /// Output width of the MLP's first product.
  [[nodiscard]] double mlp_up_width() const { return (gated ? 2 : 1) * ffn; }
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

/// "6.74 B", "355 M": a count of parameters for people.
[[nodiscard]] std::string parameters_text(double parameters);

}  // namespace trainyard
