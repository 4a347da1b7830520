#include "workloads/traffic.hpp"

namespace trainyard {

TokenTraffic norm_traffic(const Architecture& a, const Software& software) {
  const bool one_kernel = software.fused_norm || a.norm != Norm::rms;  // LayerNorm is one kernel in eager mode too
  return one_kernel ? TokenTraffic{4 * a.hidden, 10 * a.hidden} : TokenTraffic{38 * a.hidden, 62 * a.hidden};
}

TokenTraffic residual_traffic(const Architecture& a, const Software& software) {
  const double mask = software.dropout ? a.hidden : 0;
  const double backward = (software.fused_activation ? 7 : 5) * a.hidden;
  if (a.block == Block::sequential) return {6 * a.hidden + mask, backward};
  return {8 * a.hidden + 2 * mask, backward + 6 * a.hidden};
}

TokenTraffic qkv_traffic(const Architecture& a, const Software& software) {
  const double bias_gradient = a.biases == Biases::none ? 0 : 2 * a.qkv_width();
  if (a.positions != Positions::rotary) return {4 * a.qkv_width(), 6 * a.qkv_width() + bias_gradient};
  const double width = a.query_key_width();
  return software.fused_rope ? TokenTraffic{10 * width, 10 * width + bias_gradient}
                             : TokenTraffic{50 * width, 60 * width + bias_gradient};
}

TokenTraffic qk_norm_traffic(const Architecture& a, const Software& software) {
  const TokenTraffic whole = norm_traffic(a, software);
  const double share = a.query_key_width() / a.hidden;
  return {whole.forward * share, whole.backward * share};
}

TokenTraffic activation_traffic(const Architecture& a, const Software& software) {
  const double bias_gradient = a.biases == Biases::all ? 2 * a.mlp_up_width() : 0;
  if (a.gated) {
    const TokenTraffic clamp = a.activation_clamp ? clamp_traffic(a.ffn) : TokenTraffic{0, 0};
    return software.fused_activation ? TokenTraffic{6 * a.ffn + clamp.forward, 10 * a.ffn + clamp.backward + bias_gradient}
                                     : TokenTraffic{10 * a.ffn + clamp.forward, 16 * a.ffn + clamp.backward + bias_gradient};
  }
  return {(software.fused_activation ? 4 : 8) * a.ffn, 6 * a.ffn + bias_gradient};
}

TokenTraffic clamp_traffic(double ffn) { return {16 * ffn, 20 * ffn}; }

TokenTraffic expert_bias_traffic(double hidden) { return {28 * hidden, 40 * hidden}; }

TokenTraffic row_bias_traffic(const Architecture& a) { return {0, 2 * a.hidden}; }

TokenTraffic softmax_traffic(AttentionKernel kernel) {
  return kernel == AttentionKernel::unfused ? TokenTraffic{30, 30} : TokenTraffic{9, 11};
}

TokenTraffic loss_traffic(LossKernel kernel) {
  const bool fused = kernel == LossKernel::vocab_parallel_fused || kernel == LossKernel::fused_in_place;
  return fused ? TokenTraffic{14, 12} : TokenTraffic{44, 26};
}

double loss_saved(LossKernel kernel, DataType precision) {
  const double logits = element_size(precision).value;
  switch (kernel) {
    case LossKernel::eager:
      return logits + 12;
    case LossKernel::vocab_parallel:
      return logits + 4;
    case LossKernel::vocab_parallel_fused:
      return logits + 8;
    case LossKernel::fused_in_place:
      return logits + 2;
  }
  return 0;
}

}  // namespace trainyard
