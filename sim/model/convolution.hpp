// Products whose rows share their inputs.
#pragma once

#include <algorithm>

#include "sim/model/workload.hpp"

namespace trainyard {

/// A convolution as an implicit product: a row for each output position. Elements of its input are read by several rows, so that its
/// `forward_bytes` a token, which other products leave empty, say what it moves beside its weights.
[[nodiscard]] inline bool is_convolution(const Operator& op) {
  return op.kind == OperatorClass::gemm && op.attention.heads == 0 && op.gemm_n > 0 && op.forward_bytes.per_token > Bytes(0);
}

[[nodiscard]] inline bool has_convolution(const LayerType& layer) { return std::ranges::any_of(layer.operators, is_convolution); }
[[nodiscard]] inline bool has_convolution(const Module& module) {
  return std::ranges::any_of(module.types, [](const LayerType& type) { return has_convolution(type); });
}

}  // namespace trainyard
