#include "workloads/low_rank.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "workloads/operator_parts.hpp"

namespace trainyard {
namespace {

/// Bytes for an element in 16 bits: x A B is scaled (read, written) and added to x W (two read, one written); backward its gradient
/// is scaled.
constexpr double kAddForward = 10, kAddBackward = 4;

bool is_product(const Operator& op) { return op.kind == OperatorClass::gemm && op.parameters > 0; }

/// Bias gradients of row-cut products, and tables: their backward pass makes nothing but gradients of parameters.
bool works_for_weights_only(const Operator& op) {
  const bool bias_gradient = op.kind == OperatorClass::memory_bound && op.forward_bytes == Cost<Bytes>{};
  return bias_gradient || (op.group == "embedding" && op.parameters > 0 && !is_product(op));
}

/// One layer, operator by operator.
class LayerFreezer {
 public:
  LayerFreezer(const LowRankAdapters& adapters, const OperatorContext& context, const LayerType& layer)
      : adapters_(adapters), context_(context), e_(element_bytes(context)), from_(layer) {
    fused_attention_ = std::ranges::any_of(layer.operators, [](const Operator& op) { return op.kind == OperatorClass::attention; });
  }

  LayerType build() {
    result_.name = from_.name;
    result_.samples = from_.samples;
    for (const Operator& op : from_.operators) {
      result_.operators.push_back(frozen(op));
      if (is_target(op)) add_adapter(op);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_target(const Operator& op) const {
    return is_product(op) && std::ranges::find(adapters_.targets, op.name) != adapters_.targets.end();
  }

  /// Fused attention reads its output, the input of proj, in its backward pass.
  [[nodiscard]] bool attention_keeps_input(const Operator& op) const { return op.name == "proj" && fused_attention_; }

  [[nodiscard]] Operator frozen(Operator op) const {
    if (works_for_weights_only(op)) op.backward_bytes = {};
    if (op.parameters > 0) op.trainable = false;
    if (!is_product(op)) return op;
    op.backward_flops = op.forward_flops;
    op.saved = attention_keeps_input(op) ? per_token(e_ * op.gemm_k) : Cost<Bytes>{};
    return op;
  }

  /// The product just added begins the join with its adapter, or goes on where its branch does.
  TensorJoin join_adapter() {
    TensorJoin& base = result_.operators.back().join;
    if (base == TensorJoin::first) return TensorJoin::middle;
    base = base == TensorJoin::last ? TensorJoin::middle : TensorJoin::first;
    return TensorJoin::last;
  }

  void add_adapter(const Operator& target) {
    const bool by_rows = target.cut == TensorCut::row;
    Operator a = product(target.name + "_lora_a", target.group, target.gemm_k, adapters_.rank, false, context_);
    a.cut = target.cut;
    a.saved_cut = by_rows ? target.saved_cut : TensorCut::replicated;
    a.splits_rows = !by_rows;
    if (attention_keeps_input(target) || input_is_kept(target)) a.saved = {};
    if (!by_rows) a.join = join_adapter();
    Operator b = product(target.name + "_lora_b", target.group, adapters_.rank, target.gemm_n, false, context_);
    b.cut = TensorCut::column;
    b.splits_rows = false;
    if (!by_rows) b.gathered = b.saved;
    const double n = target.gemm_n;
    Operator add = memory_bound(target.name + "_lora_add", target.group, {kAddForward * n, kAddBackward * n}, n, context_);
    add.cut = by_rows ? TensorCut::sequence : TensorCut::column;
    if (by_rows) add.gathered = add.output;
    for (Operator* op : {&a, &b, &add}) result_.operators.push_back(std::move(*op));
  }

  /// Column products of a parallel block behind one norm read one input, which the first adapter keeps.
  [[nodiscard]] bool input_is_kept(const Operator& target) const {
    if (target.cut != TensorCut::column || target.join != TensorJoin::last) return false;
    return std::ranges::any_of(from_.operators, [&](const Operator& op) {
      return is_target(op) && op.cut == TensorCut::column && op.join == TensorJoin::first;
    });
  }

  const LowRankAdapters& adapters_;
  const OperatorContext& context_;
  double e_;
  const LayerType& from_;
  bool fused_attention_ = false;
  LayerType result_;
};

}  // namespace

Schema low_rank_schema() {
  const LowRankAdapters defaults;
  return schema::object(
      {schema::optional("rank", schema::integer(between(1, 1 << 16), "inner width of an adapter"), fmt::format("{:.0f}", defaults.rank)),
       schema::optional("alpha", schema::number(above(0, 1e6), "adapters are scaled by alpha / rank; costs nothing more"),
                        fmt::format("{:.0f}", defaults.alpha)),
       schema::optional("targets",
                        schema::list(schema::choice(defaults.targets, "a product of a decoder layer"), between(1, 4), "products that get adapters"),
                        fmt::format("[{}]", fmt::join(defaults.targets, ", ")))},
      "low-rank adapters beside frozen weights");
}

LowRankAdapters read_low_rank(const View& options, Diagnostics& diagnostics) {
  LowRankAdapters adapters;
  if (!options) return adapters;
  adapters.rank = static_cast<double>(options["rank"].integer_or(static_cast<std::int64_t>(adapters.rank)));
  adapters.alpha = options["alpha"].number_or(adapters.alpha);
  const View targets = options["targets"];
  if (!targets) return adapters;
  adapters.targets.clear();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::string target = targets.at(i).text();
    if (std::ranges::find(adapters.targets, target) != adapters.targets.end())
      diagnostics.add(targets.at(i).place(), fmt::format("target {} stands here twice", target));
    adapters.targets.push_back(target);
  }
  return adapters;
}

std::string describe(const LowRankAdapters& adapters) {
  return fmt::format("lora, rank {:.0f} on {}", adapters.rank, fmt::join(adapters.targets, ", "));
}

LayerType frozen_layer(const LayerType& layer, const OperatorContext& context) {
  LowRankAdapters none;
  none.targets.clear();
  return LayerFreezer(none, context, layer).build();
}

Module with_adapters(Module module, const LowRankAdapters& adapters, const OperatorContext& context) {
  for (LayerType& type : module.types) type = LayerFreezer(adapters, context, type).build();
  return module;
}

}  // namespace trainyard
