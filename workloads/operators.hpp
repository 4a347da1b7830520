// A transformer as operators.
#pragma once

#include "sim/model/workload.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// What the operators depend on besides the architecture.
struct OperatorContext {
  DataType precision = DataType::bf16;
  Software software;
  double sequence_length = 0;  ///< tokens; only the shape of unfused attention's products depends on it
  std::optional<DataType> product_type{};  ///< of the decoder's products, where not `precision`, in which the logits stay
};

/// Layers: embedding, 0 .. L-1, head. Amounts are whole, of one sequence. A product has 2 m n k FLOPs forward and twice
/// that backward; attention counts in full, 4 H q² forward and 8 H q² backward, whatever a kernel computes again.
/// Sources: Korthikanti et al. 2022 (arXiv:2205.05198) §4 for what is kept, Narayanan et al. 2021 (arXiv:2104.04473)
/// for FLOPs.
[[nodiscard]] Module build_module(const Architecture& architecture, const OperatorContext& context);

/// The three kinds of layer.
[[nodiscard]] LayerType embedding_layer(const Architecture& architecture, const OperatorContext& context);
/// `sparse`: with experts instead of one MLP.
[[nodiscard]] LayerType decoder_layer(const Architecture& architecture, const OperatorContext& context, bool sparse = false);
[[nodiscard]] LayerType head_layer(const Architecture& architecture, const OperatorContext& context);

}  // namespace trainyard
