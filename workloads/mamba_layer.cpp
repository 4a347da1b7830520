// One Mamba-2 layer: in-projection, convolution, scan by chunks, gated norm, out-projection.
#include <utility>

#include "workloads/operator_parts.hpp"
#include "workloads/operators.hpp"

namespace trainyard {
namespace {

class MambaLayer {
 public:
  MambaLayer(const Architecture& a, const OperatorContext& context)
      : a_(a), context_(context), e_(element_bytes(context)) {}

  LayerType build() {
    add(norm("mamba_norm", a_, context_), TensorCut::sequence, TensorCut::sequence);
    add_product(
        product("in_proj", "mamba", a_.hidden, a_.mamba_width() + a_.conv_width() + a_.mamba_heads, false, context_),
        TensorCut::column, context_.software.keeps_gathered_input ? TensorCut::replicated : TensorCut::sequence);
    convolution();
    scan();
    gated_norm();
    add_product(product("out_proj", "mamba", a_.mamba_width(), a_.hidden, false, context_), TensorCut::row,
                TensorCut::heads);
    add(memory_bound("mamba_residual", "mamba", residual_traffic(a_, context_.software), a_.hidden, context_),
        TensorCut::sequence, TensorCut::sequence);
    return std::move(layer_);
  }

 private:
  void add(Operator op, TensorCut cut, TensorCut saved_cut) {
    op.cut = cut;
    op.saved_cut = saved_cut;
    layer_.operators.push_back(std::move(op));
  }

  void add_product(Operator op, TensorCut cut, TensorCut saved_cut) {
    if (context_.product_type) {
      op.product_type = context_.product_type;
      op.saved = per_token(element_size(*context_.product_type).value * op.gemm_k);
    }
    add(std::move(op), cut, saved_cut);
  }

  /// Over each channel of x, B and C, with a bias; its input (and z and dt, the rest of the in-projection's output) is
  /// kept and its output built again: mamba_split_conv1d_scan_combined.
  void convolution() {
    const double width = a_.conv_width();
    Operator op = memory_bound("conv", "mamba", {4 * width, 10 * width}, width, context_);
    op.forward_flops.per_token = Flops(2 * a_.conv_size * width);
    op.backward_flops.per_token = Flops(4 * a_.conv_size * width);
    op.saved = per_token(e_ * (a_.mamba_width() + width + a_.mamba_heads));
    op.parameters = width * (a_.conv_size + 1);
    add(std::move(op), TensorCut::heads, TensorCut::heads);
  }

  /// Its kernels follow from its sizes (scan_kernels): width and state, groups of heads that share B and C, chunk. By Megatron's convention
  /// 7 FLOPs a channel and state. Kept are what the convolution keeps, and y.
  void scan() {
    Operator op;
    op.name = "scan";
    op.group = "mamba";
    op.gemm_n = a_.mamba_width();
    op.gemm_k = a_.state_size;
    op.attention.key_value_heads = int(a_.mamba_groups);
    op.attention.window = a_.scan_chunk;
    op.forward_flops.per_token = Flops(7 * a_.mamba_width() * a_.state_size);
    op.backward_flops.per_token = Flops(14 * a_.mamba_width() * a_.state_size);
    op.output = per_token(e_ * a_.mamba_width());
    op.parameters = 3 * a_.mamba_heads;  // A, D and the bias of dt
    op.weight_type = context_.precision;
    add(std::move(op), TensorCut::heads, TensorCut::heads);
  }

  /// RMSNorm of y times SiLU of z.
  void gated_norm() {
    const double width = a_.mamba_width();
    Operator op = memory_bound("gated_norm", "mamba", {6 * width, 12 * width}, width, context_);
    op.saved = per_token(e_ * width);
    op.parameters = width;
    add(std::move(op), TensorCut::heads, TensorCut::heads);
  }

  const Architecture& a_;
  const OperatorContext& context_;
  double e_;
  LayerType layer_{"mamba", {}};
};

}  // namespace

LayerType mamba_layer(const Architecture& architecture, const OperatorContext& context) {
  return MambaLayer(architecture, context).build();
}

}  // namespace trainyard
