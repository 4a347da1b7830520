// The two ends of a transformer, and the whole of it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

/// Reads a row and writes it; backward reads the gradient and adds it to the row's.
Operator look_up(const Architecture& a, const OperatorContext& context) {
  const double width = a.embedding_size;
  Operator op = memory_bound("embedding", "embedding", {4 * width, 6 * width}, width, context);
  op.kind = OperatorClass::embedding;
  op.cut = TensorCut::vocabulary;
  op.parameters = padded_vocabulary(a) * width;
  return op;
}

/// Adds the table of learned positions; backward adds the gradient to the table's.
Operator position_table(const Architecture& a, const OperatorContext& context) {
  Operator op = memory_bound("positions", "embedding", {6 * a.hidden, 6 * a.hidden}, a.hidden, context);
  const bool to_length = a.positions == Positions::learned_to_length && context.sequence_length > 0;
  op.parameters = (to_length ? context.sequence_length : a.max_positions) * a.hidden;
  return op;
}

/// Between the width of the table and that of the layers, on every device of a tensor axis (OPT-350M).
Operator width_change(const char* name, double from, double to, const OperatorContext& context) {
  Operator op = product(name, "embedding", from, to, false, context);
  op.saved_cut = TensorCut::sequence;
  return op;
}

Operator logits(const Architecture& a, const OperatorContext& context) {
  Operator op = product("logits", "head", a.embedding_size, padded_vocabulary(a), false, context);
  op.cut = TensorCut::vocabulary;
  op.saved_cut = context.software.keeps_gathered_input ? TensorCut::replicated : TensorCut::sequence;
  return op;
}

Operator loss(const Architecture& a, const OperatorContext& context) {
  const double v = padded_vocabulary(a);
  const TokenTraffic of_logit = loss_traffic(context.software.loss);
  Operator op;
  op.name = op.group = "loss";
  op.forward_bytes = per_token(of_logit.forward * v);
  op.backward_bytes = per_token(of_logit.backward * v);
  op.output = per_token(4);  // the loss of the token, fp32
  op.saved = per_token(loss_saved(context.software.loss, context.precision) * v);
  op.cut = op.saved_cut = TensorCut::vocabulary;
  if (context.software.gathers_logits) {
    op.cut = op.saved_cut = TensorCut::replicated;
    op.gathered = per_token(element_bytes(context) * v);
  }
  op.weight_type = context.precision;
  return op;
}

bool has_local_and_global_layers(const Architecture& a, const OperatorContext& context) {
  return a.global_every > 0 && a.window > 0 && context.sequence_length > a.window;
}

/// What tells decoder layers apart.
struct DecoderKind {
  bool sparse = false, global = false;
  char branch = ' ';                     ///< of the pattern; blank: attention and MLP
  friend bool operator==(const DecoderKind&, const DecoderKind&) = default;
};

LayerType decoder_of(DecoderKind kind, Architecture a, const OperatorContext& context) {
  if (kind.branch == 'M') return mamba_layer(a, context);
  if (kind.branch == '*') return attention_layer(a, context);
  if (kind.branch == '-') return mlp_layer(a, context);
  if (kind.branch == 'E' && !a.is_diffusion()) return mlp_layer(a, context, true);
  if (kind.branch != ' ') return diffusion_layer(a, context, kind.branch);
  if (kind.global) a.window = 0;
  LayerType layer = decoder_layer(a, context, kind.sparse);
  layer.name = std::string(kind.global ? "global " : "") + (kind.sparse ? "expert decoder" : "decoder");
  return layer;
}

/// A module that predicts one more token: the state of the one before and the next token's embedding, each behind a norm, are joined by a
/// product, pass a decoder layer, and the head's table gives the logits. Embedding and head are those of the model, which hold their
/// parameters; the product works on a device's own tokens. Source: DeepSeek-V3, arXiv 2412.19437 §2.2.
LayerType prediction_layer(const Architecture& a, const OperatorContext& context) {
  Operator table = look_up(a, context), joined = product("prediction_join", "embedding", 2 * a.hidden, a.hidden, false, context);
  table.parameters = 0;
  joined.cut = joined.saved_cut = TensorCut::sequence;
  LayerType layer{"prediction", {std::move(table), norm("prediction_norm", a, context), norm("embedding_norm", a, context), std::move(joined)}};
  const LayerType decoder = decoder_layer(a, context, a.experts > 0), head = head_layer(a, context);
  layer.operators.insert(layer.operators.end(), decoder.operators.begin(), decoder.operators.end());
  for (Operator op : head.operators) {
    if (op.group == "head") op.parameters = 0;
    layer.operators.push_back(std::move(op));
  }
  return layer;
}

/// Behind the last decoder layer.
void add_prediction_layers(const Architecture& a, const OperatorContext& context, Module& module) {
  if (a.prediction_layers == 0) return;
  const auto type = id_at<LayerTypeId>(module.types.size());
  module.types.push_back(prediction_layer(a, context));
  for (int i = 0; i < int(a.prediction_layers); ++i) module.layers.push_back({fmt::format("prediction {}", i), type, {}, {}});
}

}  // namespace

LayerType embedding_layer(const Architecture& a, const OperatorContext& context) {
  if (a.is_diffusion()) return diffusion_input(a, context);
  LayerType layer{"embedding", {look_up(a, context)}};
  if (a.embedding_size != a.hidden)
    layer.operators.push_back(width_change("project_in", a.embedding_size, a.hidden, context));
  if (a.position_table()) layer.operators.push_back(position_table(a, context));
  if (a.embedding_norm) layer.operators.push_back(norm("embedding_norm", a, context));
  if (context.software.dropout) {
    layer.operators.back().saved.per_token += Bytes(a.hidden);  // its mask
    layer.operators.back().saved_cut = TensorCut::sequence;
  }
  return layer;
}

LayerType head_layer(const Architecture& a, const OperatorContext& context) {
  if (a.is_diffusion()) return diffusion_output(a, context);
  LayerType layer{"head", {norm("final_norm", a, context)}};
  if (a.embedding_size != a.hidden)
    layer.operators.push_back(width_change("project_out", a.hidden, a.embedding_size, context));
  layer.operators.push_back(logits(a, context));
  layer.operators.push_back(loss(a, context));
  return layer;
}

Module build_module(const Architecture& a, const OperatorContext& context) {
  if (a.unet) return unet_module(a, context);
  Module module;
  module.name = "model";
  module.family = a.family;
  module.hidden = a.hidden;
  module.vocabulary = padded_vocabulary(a);
  const bool mixed = has_local_and_global_layers(a, context);
  const auto kind_of = [&](int i) {
    return DecoderKind{a.pattern.empty() && a.is_sparse(i), mixed && (i + 1) % static_cast<int>(a.global_every) == 0, a.pattern.empty() ? ' ' : a.pattern[std::size_t(i)]};
  };
  module.types = {embedding_layer(a, context), decoder_of(kind_of(0), a, context), head_layer(a, context)};
  if (a.vision) add_vision(a, context, module);
  const LayerId embedding = id_at<LayerId>(module.layers.size());
  module.layers.push_back({"embedding", id_at<LayerTypeId>(0), {}, {}});
  std::vector<std::pair<DecoderKind, LayerTypeId>> known{{kind_of(0), id_at<LayerTypeId>(1)}};
  for (int i = 0; i < static_cast<int>(a.layers); ++i) {
    const DecoderKind kind = kind_of(i);
    auto type = std::ranges::find(known, kind, &std::pair<DecoderKind, LayerTypeId>::first);
    if (type == known.end()) {
      type = known.insert(known.end(), {kind, id_at<LayerTypeId>(module.types.size())});
      module.types.push_back(decoder_of(kind, a, context));
    }
    module.layers.push_back({fmt::format("{}", i), type->second, {}, {}});
  }
  add_prediction_layers(a, context, module);
  module.layers.push_back({"head", id_at<LayerTypeId>(2), {}, {}});
  if (a.tied && !a.is_diffusion()) module.layers.back().tied_to = {embedding};
  return module;
}

}  // namespace trainyard
