// One decoder layer: attention and MLP, each behind a norm and before a residual addition.
#include <string_view>
#include <utility>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

class DecoderLayer {
 public:
  DecoderLayer(const Architecture& a, const OperatorContext& context, bool sparse)
      : sparse_(sparse), a_(a), context_(context), software_(context.software), e_(element_bytes(context)) {}

  LayerType build_attention() {
    attention();
    layer_.name = "attention";
    return std::move(layer_);
  }

  LayerType build_mlp() {
    if (sparse_)
      experts();
    else
      mlp();
    layer_.name = sparse_ ? "experts" : "mlp";
    return std::move(layer_);
  }

  LayerType build() {
    attention();
    if (sparse_)
      experts();
    else
      mlp();
    if (a_.block == Block::parallel) join_branches("qkv", "mlp_up");
    if (parallel()) join_branches("proj", "mlp_down");
    return std::move(layer_);
  }

 private:
  void attention() {
    if (a_.latent_attention())
      latent_attention_inputs();
    else
      attention_inputs();
    if (software_.attention == AttentionKernel::unfused || software_.attention == AttentionKernel::fused_softmax)
      unfused_attention();
    else
      fused_attention();
    attention_output();
  }

  void add(Operator op, TensorCut cut, TensorCut saved_cut) {
    const bool is_product = op.kind == OperatorClass::gemm || op.kind == OperatorClass::grouped_gemm;
    if (is_product && op.parameters > 0 && op.group != "router" && context_.product_type) narrow(op);
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

  /// A product in fewer bits keeps its input in them; what attention reads back (the input of proj) stays in full beside it, or, where
  /// inputs of activations are kept narrow too, stands for both in 12 bits (E5M6: DeepSeek-V3, arXiv 2412.19437 §3.3.3).
  void narrow(Operator& op) const {
    const Cost<Bytes> narrow_input = per_token(element_size(*context_.product_type).value * op.gemm_k * op.items_per_token);
    op.product_type = context_.product_type;
    if (op.saved == Cost<Bytes>{}) return;
    if (op.name != "proj") op.saved = narrow_input;
    else if (context_.saved_type) op.saved = per_token(1.5 * op.gemm_k);
    else op.saved.per_token += narrow_input.per_token;
  }

  void attention_inputs() {
    add(norm("attention_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    column_product(product("qkv", "attention", a_.hidden, a_.qkv_width(), a_.biases != Biases::none, context_), true);
    if (a_.qk_norm) query_key_norm();
    query_key_value();
  }

  /// Q, K and V by way of narrow vectors, which every device of a tensor axis makes for its own tokens and norms; the second products
  /// are cut by heads. Full-width Q, K and V are kept for the backward pass. Source: DeepSeek-V2, arXiv 2405.04434 §2.1.
  void latent_attention_inputs() {
    add(norm("attention_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    const double nope = a_.head_size - a_.rope_size;
    if (a_.query_latent > 0) {
      add(product("q_down", "attention", a_.hidden, a_.query_latent, false, context_), TensorCut::sequence, TensorCut::sequence);
      add(latent_norm("q_norm", a_.query_latent), TensorCut::sequence, TensorCut::sequence);
    }
    const double query_input = a_.query_latent > 0 ? a_.query_latent : a_.hidden;
    column_product(product("q_up", "attention", query_input, a_.query_width(), false, context_), true);
    Operator down = product("kv_down", "attention", a_.hidden, a_.key_value_latent + a_.rope_size, false, context_);
    down.saved = {};  // the input of the first product
    add(std::move(down), TensorCut::sequence, TensorCut::sequence);
    add(latent_norm("kv_norm", a_.key_value_latent), TensorCut::sequence, TensorCut::sequence);
    column_product(product("kv_up", "attention", a_.key_value_latent, a_.heads * (nope + a_.value_size), false, context_), true);
    latent_rotation();
  }

  Operator latent_norm(const char* name, double width) const {
    Architecture narrow = a_;
    narrow.hidden = width;
    return norm(name, narrow, context_);
  }

  /// Rotary positions on a part of Q and one of K for all heads, then both joined with the rest: a read and a write each (counted).
  void latent_rotation() {
    const double rotated = (a_.heads + 1) * a_.rope_size, joined = 2 * a_.query_width() + a_.context_width();
    const double rotation = software_.fused_rope ? 10 : 50;
    Operator op = memory_bound("rope", "attention", {rotation * rotated + 4 * joined, rotation * rotated + 4 * joined}, a_.qkv_width(), context_);
    op.saved = per_token(e_ * joined + e_ * a_.rope_size);
    add(std::move(op), TensorCut::heads, TensorCut::heads);
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
                    a_.window, a_.value_size == a_.head_size ? 0 : static_cast<int>(a_.value_size)};
    if (a_.attention_sinks && op.name != "softmax" && op.name != "context") op.parameters = a_.heads;
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
    op.forward_flops = for_each_score(2 * (a_.query_width() + a_.context_width()));
    op.backward_flops = for_each_score(4 * (a_.query_width() + a_.context_width()));
    op.forward_bytes = per_token(e_ * (a_.qkv_width() + a_.context_width()) + log_sum_exp);
    op.backward_bytes = per_token(2 * e_ * (a_.qkv_width() + a_.context_width()) + log_sum_exp);
    op.output = per_token(e_ * a_.context_width());
    op.saved = per_token(log_sum_exp + (software_.copies_attention_output ? e_ * a_.context_width() : 0));
    add_core(std::move(op));
  }

  void unfused_attention() {
    add_core(batched_product("scores", context_.sequence_length, a_.head_size, per_score(e_ * a_.heads)));
    add_core(softmax());
    add_core(batched_product("context", a_.value_size, context_.sequence_length, per_token(e_ * a_.context_width())));
  }

  /// A product for each head: m = tokens, n and k as given, batch = heads. Reads and writes the scores and two of Q, K,
  /// V, output.
  Operator batched_product(const char* name, double n, double k, Cost<Bytes> output) const {
    Operator op;
    op.name = name;
    op.kind = OperatorClass::gemm;
    op.gemm_n = n;
    op.gemm_k = k;
    const double width = op.name == "context" ? a_.context_width() : a_.query_width();
    op.forward_flops = for_each_score(2 * width);
    op.backward_flops = for_each_score(4 * width);
    op.forward_bytes = {Bytes(0), Bytes(e_ * a_.query_key_width()), Bytes(e_ * a_.heads)};
    op.backward_bytes = {Bytes(0), Bytes(2 * e_ * a_.query_key_width()), Bytes(2 * e_ * a_.heads)};
    op.output = output;
    return op;
  }

  /// Kept of each score: the softmax's output; with dropout of scores also its mask (a byte) and its output.
  Operator softmax() const {
    const TokenTraffic traffic = softmax_traffic(software_.attention);
    Operator op;
    op.name = "softmax";
    op.forward_bytes = per_score(e_ / 2 * traffic.forward * a_.heads);
    op.backward_bytes = per_score(e_ / 2 * traffic.backward * a_.heads);
    op.output = per_score(e_ * a_.heads);
    op.saved = per_score((e_ + (software_.copies_scores ? 1 + e_ : 0)) * a_.heads);
    return op;
  }

  void attention_output() {
    const bool bias = a_.biases == Biases::attention || a_.biases == Biases::all;
    add(product("proj", "attention", a_.context_width(), a_.hidden, bias, context_), TensorCut::row, TensorCut::heads);
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

  /// Router, experts and the experts that every token takes, in the order in which exchanges can run beside the latter. The norm's output
  /// is kept once, by the router. Sources: Megatron-Core (moe_layer.py, token_dispatcher.py) for the order; memory.md §2.4 for what is kept.
  void experts() {
    add(norm("mlp_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    router();
    dispatch();
    if (a_.shared_ffn > 0) shared_inputs();
    expert_products();
    if (a_.shared_ffn > 0) add(product("shared_down", "shared_experts", a_.shared_ffn, a_.hidden, false, context_), TensorCut::row, TensorCut::column);
    combine();
    if (a_.post_norms) add(norm("mlp_post_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    residual("mlp_residual", "mlp");
  }

  /// A score of each expert; then softmax, choice and order in fp32: logits read, probabilities written, read twice (counted).
  void router() {
    const double width = a_.experts + (a_.shared_gate ? 1 : 0);
    Operator score = product("router", "router", a_.hidden, width, false, context_);
    if (a_.router_bias) score.parameters += a_.experts;
    add(std::move(score), TensorCut::sequence, TensorCut::sequence);
    Operator choice = memory_bound("route", "router", {}, a_.experts, context_);
    choice.forward_bytes = per_token(16 * a_.experts);
    choice.backward_bytes = per_token(12 * a_.experts);
    choice.saved = per_token(4 * a_.experts);
    add(std::move(choice), TensorCut::sequence, TensorCut::sequence);
  }

  [[nodiscard]] double copies() const { return a_.experts_per_token; }

  Operator exchange(const char* name, ItemExchange which, TokenTraffic traffic) const {
    Operator op = memory_bound(name, "experts", traffic, copies() * a_.hidden, context_);
    op.exchange = which;
    op.items_per_token = copies();
    return op;
  }

  /// A copy of each token for each of its experts; backward their gradients are added.
  void dispatch() {
    Operator op = exchange("dispatch", ItemExchange::dispatch, {4 * copies() * a_.hidden, 2 * (copies() + 1) * a_.hidden});
    op.product_type = context_.product_type;
    add(std::move(op), TensorCut::sequence, TensorCut::sequence);
  }

  /// The experts' outputs, which are kept, are weighted and added; backward the weights get gradients too. Where a token's outputs are added
  /// before they leave a node, its weights were applied before, inside the activation: nothing is kept or read again (DeepEP, combine;
  /// Megatron-Core 0.13, experts.py, weighted_bias_swiglu_impl).
  void combine() {
    const double added = 2 * (copies() + 1) * a_.hidden, weighted = 2 * (2 * copies() + 1) * a_.hidden;
    Operator op = exchange("combine", ItemExchange::combine, {added, software_.deduplicates_dispatch ? added : weighted});
    op.product_type = context_.product_type;
    if (!software_.deduplicates_dispatch) op.saved = per_token(e_ * copies() * a_.hidden);
    add(std::move(op), TensorCut::sequence, TensorCut::routed);
  }

  void shared_inputs() {
    Architecture shared = a_;
    shared.ffn = a_.shared_ffn;
    column_product(product("shared_up", "shared_experts", a_.hidden, shared.mlp_up_width(), false, context_), false);
    add(activation_of(shared, "shared_activation", "shared_experts"), TensorCut::column, TensorCut::column);
  }

  Operator grouped_product(const char* name, double from, double to) const {
    Operator op = product(name, "experts", from, to, a_.expert_biases, context_);
    op.kind = OperatorClass::grouped_gemm;
    op.items = static_cast<int>(a_.experts);
    op.items_per_token = copies();
    op.parameters *= a_.experts;
    op.forward_flops.per_token = op.forward_flops.per_token * copies();
    op.backward_flops.per_token = op.backward_flops.per_token * copies();
    op.output.per_token = op.output.per_token * copies();
    op.saved.per_token = op.saved.per_token * copies();
    return op;
  }

  void expert_products() {
    Architecture expert = a_;
    expert.ffn = a_.expert_ffn;
    expert.biases = a_.expert_biases ? Biases::all : Biases::none;
    add(grouped_product("experts_up", a_.hidden, expert.mlp_up_width()), TensorCut::routed_column, TensorCut::routed);
    Operator middle = activation_of(expert, "experts_activation", "experts");
    for (Cost<Bytes>* amount : {&middle.forward_bytes, &middle.backward_bytes, &middle.output, &middle.saved}) amount->per_token = amount->per_token * copies();
    add(std::move(middle), TensorCut::routed_column, TensorCut::routed_column);
    add(grouped_product("experts_down", a_.expert_ffn, a_.hidden), TensorCut::routed_row, TensorCut::routed_column);
    if (a_.expert_biases) expert_bias();
  }

  void expert_bias() {
    const TokenTraffic once = expert_bias_traffic(a_.hidden);
    Operator op = memory_bound("experts_bias", "experts", {copies() * once.forward, copies() * once.backward}, copies() * a_.hidden, context_);
    op.items = static_cast<int>(a_.experts);
    add(std::move(op), TensorCut::routed, TensorCut::routed);
  }

  /// An unfused gated activation keeps the activated half besides its input, a clamped one its input before and behind the clamp.
  Operator activation() const { return activation_of(a_, "activation", "mlp"); }

  Operator activation_of(const Architecture& a, const char* name, const char* group) const {
    Operator op = memory_bound(name, group, activation_traffic(a, software_), a.ffn, context_);
    const bool keeps_half = a.gated && !software_.fused_activation;
    const double kept = context_.saved_type ? element_size(*context_.saved_type).value : e_;
    op.saved = per_token(kept * (a.mlp_up_width() * (a.activation_clamp ? 2 : 1) + (keeps_half ? a.ffn : 0)));
    return op;
  }

  bool sparse_;
  const Architecture& a_;
  const OperatorContext& context_;
  const Software& software_;
  double e_;
  LayerType layer_{"decoder", {}};
};

}  // namespace

LayerType decoder_layer(const Architecture& architecture, const OperatorContext& context, bool sparse) {
  return DecoderLayer(architecture, context, sparse).build();
}

LayerType attention_layer(const Architecture& architecture, const OperatorContext& context) {
  return DecoderLayer(architecture, context, false).build_attention();
}

LayerType mlp_layer(const Architecture& architecture, const OperatorContext& context, bool sparse) {
  return DecoderLayer(architecture, context, sparse).build_mlp();
}

}  // namespace trainyard
