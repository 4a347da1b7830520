// Blocks of diffusion transformers.
#include <algorithm>
#include <utility>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

/// A product of the vector of time and prompt, once a sample.
Operator modulation(const Architecture& a, const OperatorContext& context, double outputs) {
  const double width = outputs * a.hidden;
  Operator op = memory_bound("modulation", "modulation", {4 * a.hidden, 8 * a.hidden}, a.hidden,
                             context);  // scale and shift, each token
  op.forward_flops.fixed = Flops(2 * a.hidden * width);
  op.backward_flops.fixed = Flops(4 * a.hidden * width);
  op.parameters = a.hidden * width + width;
  op.saved = per_token(element_bytes(context) * a.hidden);
  op.cut = op.saved_cut = TensorCut::sequence;
  return op;
}

/// Norms without weights of their own, attention to all tokens, and weights of `kinds` kinds of tokens.
void adapt(LayerType& layer, double kinds) {
  for (Operator& op : layer.operators) {
    if (op.core_attention) op.attention.causal = false;
    const bool plain_norm = op.group == "norm" && op.name != "qk_norm";
    op.parameters *= plain_norm ? 0 : kinds;
  }
}

Architecture plain(Architecture a) {
  a.gated = false;
  a.biases = Biases::all;
  a.norm = Norm::layer;
  a.pattern.clear();
  return a;
}

/// Text that ends here gives its keys and values, but has no output, no MLP and only one scale and shift.
LayerType two_streams(const Architecture& a, const OperatorContext& context, bool text_ends) {
  LayerType layer = decoder_layer(plain(a), context);
  adapt(layer, 2);
  const double vectors = text_ends ? 6 + 2 : 12;
  for (Operator& op : layer.operators)
    if (text_ends && (op.name == "proj" || op.name == "mlp_up" || op.name == "mlp_down")) op.parameters /= 2;
  layer.operators.insert(layer.operators.begin(), modulation(a, context, vectors));
  return layer;
}

LayerType one_stream(const Architecture& a, const OperatorContext& context) {
  Architecture block = plain(a);
  block.block = Block::parallel;
  LayerType layer = decoder_layer(block, context);
  adapt(layer, 1);
  for (Operator& op : layer.operators)
    if (op.name == "mlp_down") op.parameters -= a.hidden;  // proj and mlp_down are one product with one bias
  layer.operators.insert(layer.operators.begin(), modulation(a, context, 3));
  return layer;
}

LayerType with_cross_attention(const Architecture& a, const OperatorContext& context) {
  LayerType layer = decoder_layer(plain(a), context);
  adapt(layer, 1);
  add_cross_attention(a, {a.text_tokens, a.hidden, true}, context, layer);
  for (Operator& op : layer.operators)
    if (op.name == "qkv")
      op.parameters += 2 * a.hidden + 6 * a.hidden;  // norms of Q and K, and what is added to the vector of time
  Operator modulated = modulation(a, context, 0);
  layer.operators.insert(layer.operators.begin(), std::move(modulated));
  return layer;
}

}  // namespace

/// Each image token attends to the text: queries and output of the image, keys and values of the text.
void add_cross_attention(const Architecture& a, const CrossAttention& cross, const OperatorContext& context, LayerType& layer) {
  const double e = element_bytes(context), h = a.hidden, text = cross.text_tokens, from = cross.text_width;
  const auto column = [](Operator op, TensorCut cut) {
    op.cut = cut;
    op.saved_cut = cut == TensorCut::column ? TensorCut::sequence : TensorCut::heads;
    return op;
  };
  Operator keys = memory_bound("cross_kv", "attention", {}, 2 * h, context);
  keys.forward_flops.fixed = Flops(2 * text * from * 2 * h);
  keys.backward_flops.fixed = Flops(4 * text * from * 2 * h);
  keys.forward_bytes.fixed = Bytes(e * (2 * h * from + text * (from + 2 * h)));
  keys.backward_bytes.fixed = Bytes(2 * e * (2 * h * from + text * (from + 2 * h)));
  keys.parameters = 2 * h * from + (cross.normalised ? 2 * h : 0);
  Operator scores = memory_bound("cross_attention", "attention", {4 * h, 8 * h}, h, context);
  scores.forward_flops.per_token = Flops(4 * text * h);
  scores.backward_flops.per_token = Flops(8 * text * h);
  scores.saved = per_token(2 * e * h);
  scores.parameters = cross.normalised ? 2 * h : 0;
  Operator norm_before = norm("cross_norm", plain(a), context);
  std::vector<Operator> operators{norm_before,
                                  column(product("cross_q", "attention", h, h, cross.normalised, context), TensorCut::column),
                                  column(keys, TensorCut::heads), column(scores, TensorCut::heads),
                                  column(product("cross_proj", "attention", h, h, true, context), TensorCut::row)};
  const auto at = std::find_if(layer.operators.begin(), layer.operators.end(),
                               [](const Operator& op) { return op.name == "mlp_norm"; });
  layer.operators.insert(at, operators.begin(), operators.end());
}

LayerType diffusion_layer(const Architecture& a, const OperatorContext& context, char kind) {
  LayerType layer = kind == 'S'   ? one_stream(a, context)
                    : kind == 'X' ? with_cross_attention(a, context)
                                  : two_streams(a, context, kind == 'E');
  layer.name = kind == 'S'   ? "one stream"
               : kind == 'X' ? "cross-attention"
               : kind == 'E' ? "last two streams"
                             : "two streams";
  return layer;
}

LayerType diffusion_input(const Architecture& a, const OperatorContext& context) {
  LayerType layer{"embedding", {product("latent_in", "embedding", a.latent, a.hidden, true, context)}};
  Operator conditions = memory_bound("conditioning", "embedding", {}, a.hidden, context);
  conditions.parameters = a.conditioning + (a.text_width > 0 ? a.text_width * a.hidden + a.hidden : 0);
  conditions.forward_flops.fixed = Flops(2 * a.conditioning + 2 * a.text_tokens * a.text_width * a.hidden);
  conditions.backward_flops.fixed = Flops(2 * conditions.forward_flops.fixed.value);
  conditions.forward_bytes.fixed = Bytes(element_bytes(context) * conditions.parameters);
  conditions.backward_bytes.fixed = Bytes(2 * element_bytes(context) * conditions.parameters);
  layer.operators.push_back(std::move(conditions));
  return layer;
}

LayerType diffusion_output(const Architecture& a, const OperatorContext& context) {
  LayerType layer{"head", {}};
  const bool own_vector = a.pattern.find('X') == std::string::npos;
  layer.operators.push_back(modulation(a, context, own_vector ? 2 : 0));
  layer.operators.push_back(product("latent_out", "head", a.hidden, a.latent, true, context));
  layer.operators.push_back(memory_bound("loss", "loss", {4 * a.latent, 4 * a.latent}, a.latent, context));
  return layer;
}

}  // namespace trainyard
