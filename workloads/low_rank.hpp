// Low-rank adapters beside frozen products (LoRA).
#pragma once

#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "workloads/operators.hpp"

namespace trainyard {

/// Hu et al., LoRA, arXiv 2106.09685 §4.1: beside W [k x n], frozen, stand A [k x rank] and B [rank x n], and alpha / rank · x A B is
/// added to x W. Defaults: NeMo's and Megatron-Bridge's `LoRA` (dim 32, alpha 32, every linear layer of a block).
struct LowRankAdapters {
  double rank = 32;
  double alpha = 32;  ///< a factor of the scaling, which costs the same whatever it is
  std::vector<std::string> targets{"qkv", "proj", "mlp_up", "mlp_down"};  ///< products of a decoder layer
};

/// Of `lora:` in `workload.method`.
[[nodiscard]] Schema low_rank_schema();
/// `options` as checked against low_rank_schema(); empty: the defaults. A target named twice goes to `diagnostics`.
[[nodiscard]] LowRankAdapters read_low_rank(const View& options, Diagnostics& diagnostics);
/// "lora, rank 16 on qkv, proj".
[[nodiscard]] std::string describe(const LowRankAdapters& adapters);

/// Freezes every operator and adds TARGET_lora_a, TARGET_lora_b and TARGET_lora_add behind each target. Frozen products have no
/// weight gradient, frozen tables no backward pass, and inputs that only weight gradients read are not kept. Adapters work in the
/// precision of the activations. With a tensor axis both factors are cut by columns (A of a row-cut target by rows), and kept whole
/// over the sequence, as in NeMo's ParallelLinearAdapter: beside a column-cut product the inner product is gathered; beside a row-cut
/// one it is added up and B's output gathered. The gradient of the output, gathered for the frozen product, serves both.
[[nodiscard]] Module with_adapters(Module module, const LowRankAdapters& adapters, const OperatorContext& context);
/// The layer without what its parameters' gradients need, and no adapters: its input's gradient goes on.
[[nodiscard]] LayerType frozen_layer(const LayerType& layer, const OperatorContext& context);

}  // namespace trainyard
