// Which part of a layer is done again for its backward pass, operator by operator.
#pragma once

#include <vector>

#include "sim/cost/layer_work.hpp"

namespace trainyard {

/// Of one operator: the share of its work that is done again, and what is kept of its output instead (bytes a token, before any cut).
struct Repeated {
  double share = 0;
  Bytes kept{};
};

/// One for each operator. `full` and `every` repeat all of a decoder layer; `selective` the parts that the software names, or with
/// `selective_keeps_products` everything but the attention kernel and every second product, of which a merged one (q, k and v; gate
/// and up) counts as its parts. Source: pytorch/torchtitan, torchtitan/parallelisms/parallelize_llama.py, _save_list and
/// _custom_policy (2024); Korthikanti et al., arXiv 2205.05198 §5.
[[nodiscard]] std::vector<Repeated> repeated_work(const LayerType& layer, RecomputeKind recompute, DataType precision, const Software& software);

/// Whether selective recompute makes the input that `op` keeps again: scores and Q, K, V of attention, outputs of norms, of activations and
/// of the second products of latent attention.
[[nodiscard]] bool drops_input(const Operator& op, const LayerType& layer, const Software& software);

/// Bytes that selective recompute with `selective_keeps_products` keeps of a layer beside its input.
[[nodiscard]] Bytes kept_products(const LayerType& layer, const LayerCut& cut, DataType precision, const Software& software);

}  // namespace trainyard
