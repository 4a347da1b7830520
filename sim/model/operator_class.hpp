// Classes of work with one cost formula each.
#pragma once

#include <string_view>

namespace trainyard {

enum class OperatorClass {
  gemm,            ///< dense matrix product, shape (m, n, k)
  attention,       ///< fused attention kernel
  grouped_gemm,    ///< one product an expert
  memory_bound,    ///< norms, activations, dropout, residuals, softmax, loss: limited by bytes
  embedding,       ///< table look-up
  optimizer,       ///< update of the weights
  communication,   ///< a collective or a transfer
  host,            ///< work of a CPU
  measured,        ///< a whole pass of a layer, as a profile has it
};

[[nodiscard]] std::string_view name(OperatorClass kind);

/// What kernels of one class do to the flows beside them on the same device: their path keeps this share of its limit.
struct Interference {
  OperatorClass kind = OperatorClass::gemm;
  double flows_keep = 1;   ///< above 0, at most 1
  friend bool operator==(const Interference&, const Interference&) = default;
};

/// Product [m x k] · [k x n], `batch` times; all zero for what is no product.
struct GemmShape {
  double m = 0, n = 0, k = 0, batch = 1;
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

}  // namespace trainyard
