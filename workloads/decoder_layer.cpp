// One decoder layer: attention and MLP, each behind a norm and before a residual addition.
#include <string_view>
#include <utility>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

class DecoderLayer {
 public:
  DecoderLayer(const Architecture& a, const OperatorContext& context)
      : a_(a), context_(context), software_(context.software), e_(element_bytes(context)) {}

  LayerType build() {
    attention_inputs();
    if (software_.attention == AttentionKernel::unfused || software_.attention == AttentionKernel::fused_softmax)
      unfused_attention();
    else
      fused_attention();
    attention_output();
    mlp();
    if (a_.block == Block::parallel) join_branches("qkv", "mlp_up");
    if (parallel()) join_branches("proj", "mlp_down");
    return std::move(layer_);
  }

 private:
  void add(Operator op, TensorCut cut, TensorCut saved_cut) {
    if (op.kind == OperatorClass::gemm && op.parameters > 0 && context_.product_type) narrow(op);
    op.cut = cut;
    op.saved_cut = saved_cut;
    layer_.operators.push_back(std::move(op));
  }

  [[nodiscard]] bool parallel() const { return a_.block != Block::sequential; }

  void join_branches(std::string_view first, std::string_view last) {
    for (Operator& op : layer_.operators) {
      if (op.name == first) op.join = TensorJoin::first;
      if (op.name == last) op.join = TensorJoin::last;
    }
  }

  /// A product in fewer bits keeps its input in them; what attention reads back (the input of proj) stays in full beside it.
  void narrow(Operator& op) const {
    const Cost<Bytes> narrow_input = per_token(element_size(*context_.product_type).value * op.gemm_k);
    op.product_type = context_.product_type;
    if (op.saved == Cost<Bytes>{}) return;
    op.saved = op.name == "proj" ? Cost<Bytes>{Bytes(0), op.saved.per_token + narrow_input.per_token, Bytes(0)} : narrow_input;
  }

  void attention_inputs() {
    add(norm("attention_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    column_product(product("qkv", "attention", a_.hidden, a_.qkv_width(), a_.biases != Biases::none, context_), true);
    if (a_.qk_norm) query_key_norm();
    query_key_value();
  }

  void query_key_norm() {
    Operator op = memory_bound("qk_norm", "norm", qk_norm_traffic(a_, software_), a_.qkv_width(), context_);
    op.saved = per_token(e_ * a_.query_key_width());
    op.parameters = 2 * a_.head_size;
    add(std::move(op), TensorCut::heads, TensorCut::heads);
  }

  /// Q, K and V as attention reads them are kept here and not by attention itself, for they stay under selective
  /// recompute.
  void query_key_value() {
    const char* name = a_.positions == Positions::rotary ? "rope" : "qkv_split";
    Operator op = memory_bound(name, "attention", qkv_traffic(a_, software_), a_.qkv_width(), context_);
    op.saved = per_token(e_ * a_.qkv_width());
    add(std::move(op), TensorCut::heads, TensorCut::heads);
  }

  void add_core(Operator op) {
    op.group = "core_attention";
    op.core_attention = true;
    op.attention = {static_cast<int>(a_.heads), static_cast<int>(a_.kv_heads), static_cast<int>(a_.head_size), true,
                    a_.window};
    op.weight_type = context_.precision;
    add(std::move(op), TensorCut::heads, TensorCut::heads);
  }

  /// FLOPs for q² scores; with a window w < q only 2 q w - w² of them, which is q² at w = q.
  [[nodiscard]] Cost<Flops> for_each_score(double flops) const {
    const double w = a_.window;
    if (w == 0 || context_.sequence_length <= w) return {Flops(0), Flops(0), Flops(flops)};
    return {Flops(-flops * w * w), Flops(2 * flops * w), Flops(0)};
  }

  void fused_attention() {
    const double log_sum_exp = 4 * a_.heads;  // fp32, one a row and head
    Operator op;
    op.name = "attention";
    op.kind = OperatorClass::attention;
    op.forward_flops = for_each_score(4 * a_.query_width());
    op.backward_flops = for_each_score(8 * a_.query_width());
    op.forward_bytes = per_token(e_ * (a_.qkv_width() + a_.query_width()) + log_sum_exp);
    op.backward_bytes = per_token(2 * e_ * (a_.qkv_width() + a_.query_width()) + log_sum_exp);
    op.output = per_token(e_ * a_.query_width());
    op.saved = per_token(log_sum_exp);
    add_core(std::move(op));
  }

  void unfused_attention() {
    add_core(batched_product("scores", context_.sequence_length, a_.head_size, per_score(e_ * a_.heads)));
    add_core(softmax());
    add_core(batched_product("context", a_.head_size, context_.sequence_length, per_token(e_ * a_.query_width())));
  }

  /// A product for each head: m = tokens, n and k as given, batch = heads. Reads and writes the scores and two of Q, K,
  /// V, output.
  Operator batched_product(const char* name, double n, double k, Cost<Bytes> output) const {
    Operator op;
    op.name = name;
    op.kind = OperatorClass::gemm;
    op.gemm_n = n;
    op.gemm_k = k;
    op.forward_flops = for_each_score(2 * a_.query_width());
    op.backward_flops = for_each_score(4 * a_.query_width());
    op.forward_bytes = {Bytes(0), Bytes(e_ * a_.query_key_width()), Bytes(e_ * a_.heads)};
    op.backward_bytes = {Bytes(0), Bytes(2 * e_ * a_.query_key_width()), Bytes(2 * e_ * a_.heads)};
    op.output = output;
    return op;
  }

  /// Kept of each score: the softmax's output; with dropout also its mask (a byte) and its output.
  Operator softmax() const {
    const TokenTraffic traffic = softmax_traffic(software_.attention);
    Operator op;
    op.name = "softmax";
    op.forward_bytes = per_score(e_ / 2 * traffic.forward * a_.heads);
    op.backward_bytes = per_score(e_ / 2 * traffic.backward * a_.heads);
    op.output = per_score(e_ * a_.heads);
    op.saved = per_score((e_ + (software_.dropout ? 1 + e_ : 0)) * a_.heads);
    return op;
  }

  void attention_output() {
    const bool bias = a_.biases == Biases::attention || a_.biases == Biases::all;
    add(product("proj", "attention", a_.query_width(), a_.hidden, bias, context_), TensorCut::row, TensorCut::heads);
    if (bias) row_bias_gradient("proj_bias_gradient", "attention");
    if (a_.post_norms) add(norm("attention_post_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    if (!parallel()) residual("attention_residual", "attention");
  }

  void row_bias_gradient(const char* name, const char* group) {
    add(memory_bound(name, group, row_bias_traffic(a_), a_.hidden, context_), TensorCut::replicated,
        TensorCut::replicated);
  }

  void residual(const char* name, const char* group) {
    Operator op = memory_bound(name, group, residual_traffic(a_, software_), a_.hidden, context_);
    if (software_.dropout) op.saved = per_token(a_.hidden * (parallel() ? 2 : 1));
    add(std::move(op), TensorCut::sequence, TensorCut::sequence);
  }

  /// Of a column product. Branches of a parallel block behind one norm keep their common input once.
  void column_product(Operator op, bool keeps_input) {
    if (!keeps_input) op.saved = {};
    const TensorCut kept = software_.keeps_gathered_input ? TensorCut::replicated : TensorCut::sequence;
    add(std::move(op), TensorCut::column, kept);
  }

  void mlp() {
    const bool bias = a_.biases == Biases::all;
    const bool own_norm = a_.block != Block::parallel;
    if (own_norm) add(norm("mlp_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    column_product(product("mlp_up", "mlp", a_.hidden, a_.mlp_up_width(), bias, context_), own_norm);
    add(activation(), TensorCut::column, TensorCut::column);
    add(product("mlp_down", "mlp", a_.ffn, a_.hidden, bias, context_), TensorCut::row, TensorCut::column);
    if (bias) row_bias_gradient("mlp_down_bias_gradient", "mlp");
    if (a_.post_norms) add(norm("mlp_post_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    residual(parallel() ? "residual" : "mlp_residual", "mlp");
  }

  /// An unfused gated activation keeps the activated half besides its input.
  Operator activation() const {
    Operator op = memory_bound("activation", "mlp", activation_traffic(a_, software_), a_.ffn, context_);
    const bool keeps_half = a_.gated && !software_.fused_activation;
    op.saved = per_token(e_ * (a_.mlp_up_width() + (keeps_half ? a_.ffn : 0)));
    return op;
  }

  const Architecture& a_;
  const OperatorContext& context_;
  const Software& software_;
  double e_;
  LayerType layer_{"decoder", {}};
};

}  // namespace

LayerType decoder_layer(const Architecture& architecture, const OperatorContext& context) {
  return DecoderLayer(architecture, context).build();
}

}  // namespace trainyard
