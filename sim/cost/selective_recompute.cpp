#include "sim/cost/selective_recompute.hpp"

#include <algorithm>
#include <optional>

namespace trainyard {
namespace {

bool is_matrix(const Operator& op) { return op.kind == OperatorClass::gemm && op.parameters > 0; }

/// Widths of the products that `op` stands for.
std::vector<double> parts_of(const Operator& op, const LayerType& layer) {
  const auto core = std::ranges::find_if(layer.operators, &Operator::core_attention);
  if (op.name == "qkv" && core != layer.operators.end()) {
    const AttentionShape& shape = core->attention;
    return {double(shape.heads) * shape.head_size, double(shape.key_value_heads) * shape.head_size, double(shape.key_value_heads) * shape.head_size};
  }
  const auto down = std::ranges::find(layer.operators, "mlp_down", &Operator::name);
  if (op.name == "mlp_up" && down != layer.operators.end() && op.gemm_n == 2 * down->gemm_k) return {down->gemm_k, down->gemm_k};
  return {op.gemm_n};
}

/// `counted` products came before.
Repeated every_second(const Operator& op, const LayerType& layer, DataType precision, int& counted) {
  double again = 0, kept = 0;
  for (const double width : parts_of(op, layer)) (++counted % 2 == 0 ? again : kept) += width;
  return {again / (again + kept), element_size(precision) * kept};
}

std::vector<Repeated> without_products(const LayerType& layer, DataType precision) {
  std::vector<Repeated> repeated;
  int counted = 0;
  for (const Operator& op : layer.operators) {
    if (is_matrix(op)) repeated.push_back(every_second(op, layer, precision, counted));
    else if (op.kind == OperatorClass::attention) repeated.push_back({0, op.output.per_token});
    else repeated.push_back({1, {}});
  }
  return repeated;
}

/// The part of a layer that `selective` may name. Source: Megatron-Core, --recompute-modules (core_attn, layernorm, moe_act, mla_up_proj,
/// mlp): attention.py, transformer_layer.py, experts.py, multi_latent_attention.py. Of latent attention also its norms, second products and
/// rotation.
std::optional<RecomputedPart> part_of(const Operator& op, bool latent) {
  if (latent)
    for (const char* name : {"q_norm", "q_up", "kv_norm", "kv_up", "rope"})
      if (op.name == name) return RecomputedPart::latent;
  if (op.core_attention) return RecomputedPart::attention;
  if (op.name == "attention_norm" || op.name == "mlp_norm") return RecomputedPart::norms;
  if (op.name == "experts_activation") return RecomputedPart::expert_activation;
  for (const char* name : {"mlp_up", "activation", "mlp_down"})
    if (op.name == name) return RecomputedPart::mlp;
  return std::nullopt;
}

bool is_latent(const LayerType& layer) { return std::ranges::find(layer.operators, "kv_up", &Operator::name) != layer.operators.end(); }

bool names(const Software& software, std::optional<RecomputedPart> part) {
  return part && std::ranges::find(software.selective, *part) != software.selective.end();
}

/// Whose input is made again, and need not be kept.
std::optional<RecomputedPart> maker_of_input(const Operator& op, bool latent) {
  if (op.core_attention) return RecomputedPart::attention;
  if (op.name == "qkv" || op.name == "q_down" || op.name == "router" || op.name == "mlp_up") return RecomputedPart::norms;
  if (op.name == "experts_down") return RecomputedPart::expert_activation;
  if (op.name == "activation" || op.name == "mlp_down") return RecomputedPart::mlp;
  if (latent && (op.name == "q_up" || op.name == "kv_up" || op.name == "rope")) return RecomputedPart::latent;
  return std::nullopt;
}

}  // namespace

bool drops_input(const Operator& op, const LayerType& layer, const Software& software) {
  return names(software, maker_of_input(op, is_latent(layer)));
}

std::vector<Repeated> repeated_work(const LayerType& layer, RecomputeKind recompute, DataType precision, const Software& software) {
  if (!can_recompute(layer)) return std::vector<Repeated>(layer.operators.size());
  if (recompute == RecomputeKind::selective && software.selective_keeps_products) return without_products(layer, precision);
  const bool latent = is_latent(layer);
  std::vector<Repeated> repeated;
  for (const Operator& op : layer.operators) {
    const bool all = recompute == RecomputeKind::full || recompute == RecomputeKind::every;
    repeated.push_back({all || (recompute == RecomputeKind::selective && names(software, part_of(op, latent))) ? 1.0 : 0.0, {}});
  }
  return repeated;
}

Bytes kept_products(const LayerType& layer, const LayerCut& cut, DataType precision, const Software& software) {
  const std::vector<Repeated> repeated = repeated_work(layer, RecomputeKind::selective, precision, software);
  Bytes kept{};
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    const Operator& op = layer.operators[i];
    const bool partial_sums = op.cut == TensorCut::row;  // kept whole, and the scattered sum beside it
    const double rows = cut.sequences * cut.tokens;
    kept += repeated[i].kept * (rows * (partial_sums ? 1.0 : remaining_share(op.cut, cut)));
    if (partial_sums && cut.tensor > 1) kept += op.output.of(cut.tokens) * (cut.sequences * remaining_share(TensorCut::sequence, cut));
    if (op.kind == OperatorClass::attention) kept += op.saved.of(cut.tokens) * (cut.sequences * remaining_share(op.saved_cut, cut));
  }
  return kept;
}

}  // namespace trainyard
