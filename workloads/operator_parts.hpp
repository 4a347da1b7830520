// Building blocks shared by the kinds of layer.
#pragma once

#include <string>

#include "workloads/operators.hpp"
#include "workloads/traffic.hpp"

namespace trainyard {

/// Bytes of an element of activations and weights.
[[nodiscard]] double element_bytes(const OperatorContext& context);
[[nodiscard]] Cost<Bytes> per_token(double bytes);
[[nodiscard]] Cost<Bytes> per_score(double bytes);

/// Product of `from` by `to` elements a token; its input is kept. `parameters` adds the bias where it has one.
[[nodiscard]] Operator product(std::string name, std::string group, double from, double to, bool bias,
                               const OperatorContext& context);
/// Limited by bytes; `traffic` is for 16-bit elements and scales with the precision.
[[nodiscard]] Operator memory_bound(std::string name, std::string group, TokenTraffic traffic, double output_width,
                                    const OperatorContext& context);
/// LayerNorm or RMSNorm over the hidden width; cut along the sequence.
[[nodiscard]] Operator norm(std::string name, const Architecture& architecture, const OperatorContext& context);

}  // namespace trainyard
