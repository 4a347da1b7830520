// The two ends of a transformer, and the whole of it.
#include <fmt/format.h>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

/// Reads a row and writes it; backward reads the gradient and adds it to the row's.
Operator look_up(const Architecture& a, const OperatorContext& context) {
  Operator op = memory_bound("embedding", "embedding", {4 * a.hidden, 6 * a.hidden}, a.hidden, context);
  op.kind = OperatorClass::embedding;
  op.cut = TensorCut::vocabulary;
  op.parameters = padded_vocabulary(a) * a.hidden;
  return op;
}

/// Adds the table of learned positions; backward adds the gradient to the table's.
Operator position_table(const Architecture& a, const OperatorContext& context) {
  Operator op = memory_bound("positions", "embedding", {6 * a.hidden, 6 * a.hidden}, a.hidden, context);
  op.parameters = a.max_positions * a.hidden;
  return op;
}

Operator logits(const Architecture& a, const OperatorContext& context) {
  Operator op = product("logits", "head", a.hidden, padded_vocabulary(a), false, context);
  op.cut = TensorCut::vocabulary;
  op.saved_cut = TensorCut::sequence;
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
  op.saved = per_token(loss_saved(context.software.loss) * v);
  op.cut = op.saved_cut = TensorCut::vocabulary;
  op.weight_type = context.precision;
  return op;
}

}  // namespace

LayerType embedding_layer(const Architecture& a, const OperatorContext& context) {
  LayerType layer{"embedding", {look_up(a, context)}};
  if (a.positions == Positions::learned) layer.operators.push_back(position_table(a, context));
  if (context.software.dropout) {
    layer.operators.back().saved = per_token(a.hidden);  // its mask
    layer.operators.back().saved_cut = TensorCut::sequence;
  }
  return layer;
}

LayerType head_layer(const Architecture& a, const OperatorContext& context) {
  return {"head", {norm("final_norm", a, context), logits(a, context), loss(a, context)}};
}

Module build_module(const Architecture& a, const OperatorContext& context) {
  Module module;
  module.name = "model";
  module.family = a.family;
  module.hidden = a.hidden;
  module.vocabulary = padded_vocabulary(a);
  module.types = {embedding_layer(a, context), decoder_layer(a, context), head_layer(a, context)};
  module.layers.push_back({"embedding", id_at<LayerTypeId>(0), {}, {}});
  for (int i = 0; i < static_cast<int>(a.layers); ++i)
    module.layers.push_back({fmt::format("{}", i), id_at<LayerTypeId>(1), {}, {}});
  module.layers.push_back({"head", id_at<LayerTypeId>(2), {}, {}});
  if (a.tied) module.layers.back().tied_to = {id_at<LayerId>(0)};
  return module;
}

}  // namespace trainyard
