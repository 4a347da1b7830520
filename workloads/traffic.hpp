// Bytes that the memory-bound kernels of a layer read and write, by what the software fuses.
#pragma once

#include "sim/model/software.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// Bytes of one token, forward and backward, in 16-bit training.
struct TokenTraffic {
  double forward = 0, backward = 0;
};

/// The coefficients are those of a fit against published step times of three kinds of layer (per token, h hidden, F MLP
/// width, H width of Q, h' width of Q and K), distributed over the operators so that their sums are:
///   Megatron fused, GPT:  22h + 4F + 12H forward, 34h + 4h + 6F + 18H + 2(3H + F) backward (20h forward without
///   dropout) fused Llama:          20h + 6F + 10h' forward, 34h + 10F + 10h' backward eager Llama:          88h (20h
///   with a fused norm) + 10F + 50h' forward, 134h (30h) + 16F + 60h' backward
/// What no fit covers (the plain MLP's activation in eager mode) is counted: one read and one write for each kernel.
[[nodiscard]] TokenTraffic norm_traffic(const Architecture& a, const Software& software);
/// Bias, dropout and addition after attention or the MLP. A parallel block has one for both branches: one more read
/// forward, and the sum of the branches' gradients backward (counted).
[[nodiscard]] TokenTraffic residual_traffic(const Architecture& a, const Software& software);
/// Between the QKV product and attention: rotary positions, or the split of Q, K and V; with their bias's gradient.
[[nodiscard]] TokenTraffic qkv_traffic(const Architecture& a, const Software& software);
/// Norm of each head of Q and K: counted, like a norm.
[[nodiscard]] TokenTraffic qk_norm_traffic(const Architecture& a, const Software& software);
/// The MLP's activation; with the gradient of its bias.
[[nodiscard]] TokenTraffic activation_traffic(const Architecture& a, const Software& software);
/// Both halves of a gated activation clamped, each in a kernel, and joined: 2 + 2 bytes for each half and for both; backward each half reads
/// its gradient and its input and writes (6), and the gradients are joined. Source: Megatron-Core, fused_bias_geglu.py,
/// weighted_bias_quick_geglu_impl (clamp and cat stand before the fused activation).
[[nodiscard]] TokenTraffic clamp_traffic(double ffn);
/// The second bias of experts, scaled by each token's weight in fp32: product with the weight (4 written), sum (2 + 4 read, 4 written),
/// the experts joined (4 + 4), cast (4 + 2). Backward: cast back (2 + 4) and to the outputs' type (4 + 2), the experts joined (2 + 2);
/// gradients of bias and of weights are a product (4 + 4) and a sum (4) each. Source: Megatron-Core, experts.py, TEGroupedMLP._apply_bias.
[[nodiscard]] TokenTraffic expert_bias_traffic(double hidden);
/// Gradient of the bias after a row-parallel product: every tensor rank reads the whole gradient.
[[nodiscard]] TokenTraffic row_bias_traffic(const Architecture& a);

/// Bytes of one attention score: softmax, mask and dropout in one kernel, or each in its own.
[[nodiscard]] TokenTraffic softmax_traffic(AttentionKernel kernel);
/// Bytes of one logit in the loss, whose arithmetic is fp32 in any precision.
[[nodiscard]] TokenTraffic loss_traffic(LossKernel kernel);
/// Bytes of one logit kept at the peak: logits as the head gives them (in `precision`), fp32 copy, log-softmax, gradient, as far as each stays.
[[nodiscard]] double loss_saved(LossKernel kernel, DataType precision);

}  // namespace trainyard
