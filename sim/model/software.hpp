// Switches of the training software: what is fused, what overlaps. No numbers here (times belong to devices and links).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/data_type.hpp"

namespace trainyard {

/// Kernel that computes attention; `unfused` writes the scores to memory (`fused_softmax` masks and normalises them in one).
enum class AttentionKernel { unfused, fused_softmax, flash_1, flash_triton, flash_2, cudnn };
/// How the loss handles logits, which sets its bytes: each fp32 copy kept or not (memory.md §4).
enum class LossKernel { eager, vocab_parallel, vocab_parallel_fused, fused_in_place };
/// How operands of fp8 and fp4 products get their scales: known before, so that the cast hides in the kernel in front (`delayed`), or from the
/// operand's own maximum, whole (`tensorwise`) or row by row (`rowwise`).
enum class OperandScaling { delayed, tensorwise, rowwise };

/// What `recompute: selective` does again: attention between Q, K, V and its output, norms, the activation between experts' products, the
/// second products of latent attention (with its rotation), the MLP of layers without experts.
enum class RecomputedPart { attention, norms, expert_activation, latent, mlp };

[[nodiscard]] std::string_view name(AttentionKernel kernel);
[[nodiscard]] std::optional<AttentionKernel> attention_kernel_from(std::string_view name);
[[nodiscard]] std::string_view name(LossKernel kernel);
[[nodiscard]] std::optional<LossKernel> loss_kernel_from(std::string_view name);
[[nodiscard]] std::string_view name(OperandScaling scaling);
[[nodiscard]] std::optional<OperandScaling> operand_scaling_from(std::string_view name);

[[nodiscard]] std::string_view name(RecomputedPart part);
[[nodiscard]] std::optional<RecomputedPart> recomputed_part_from(std::string_view name);

struct Software {
  std::string name;                      ///< preset, e.g. "megatron-core-2024"
  std::string source;                    ///< where the switches were read
  AttentionKernel attention = AttentionKernel::flash_2;
  LossKernel loss = LossKernel::vocab_parallel;
  bool fused_norm = true, fused_rope = true, fused_activation = true;
  bool dropout = false;
  bool sequence_parallel = true;         ///< default of a Plan's `sequence_parallel` where tensor > 1
  bool pipeline_scatter_gather = true;   ///< without sequence parallelism: a stage sends V/t and gathers
  bool overlap_pipeline = false;         ///< a stage computes while its last output is on the wire
  bool overlap_gradient_reduce = true;   ///< data-parallel reduction beside the backward pass, by buckets
  bool overlap_weight_gather = true;     ///< ZeRO-1's gather beside the next forward pass
  bool overlap_tensor = false;           ///< tensor-parallel collectives of the backward pass beside GEMMs
  bool splits_tensor_products = false;   ///< a product runs in t parts beside the exchange of its neighbours (user buffers of Transformer Engine)
  bool overlap_expert = false;           ///< all-to-alls of one micro-batch beside the products of another, where a schedule pairs passes
  bool overlap_shared_experts = false;   ///< all-to-alls beside the shared experts' products
  bool deduplicates_dispatch = false;    ///< a token goes once to each node, whose devices pass it on (DeepEP)
  bool narrow_dispatch = false;          ///< tokens travel to experts in the products' type
  bool fused_permute = false;            ///< the exchange's own kernel sorts tokens by expert (HybridEP)
  bool fused_experts = false;            ///< products of experts apply the activation and the casts between them themselves, all in one kernel
  bool distributed_optimizer = true;     ///< default of a Plan's `zero`: 1 instead of 0
  bool gradient_clipping = true;         ///< a global norm joins all devices before the update
  bool cuda_graphs = false;              ///< recorded: the host's time of `eager_host` vanishes
  bool eager_host = false;               ///< the host issues every kernel from Python; a layer takes at least its host time
  bool cached_gradient_dummies = false;  ///< Transformer Engine with fused weight-gradient accumulation (memory.md §2.9)
  bool gathers_logits = false;           ///< the loss gathers whole rows of logits over the tensor axis
  bool fused_gradient_accumulation = false;  ///< weight-gradient products add to the kept gradient instead of a kernel of its own
  bool selective_keeps_products = false; ///< selective recompute keeps every second product's output and attention's, and does the rest again
  std::vector<RecomputedPart> selective{RecomputedPart::attention};  ///< recompute's `selective`, unless it keeps products
  bool narrow_weights = false;           ///< of fp8 and fp4 products only the operands' type is kept (fp8 primary weights; without the transposed copies of Hopper)
  bool keeps_gradient_copies = false;    ///< fp32 gradients beside those of the product's type: the optimizer's part, or all where they add up in fp32
  bool keeps_gathered_input = false;     ///< sequence parallelism keeps a product's gathered input instead of gathering again
  bool copies_gathers = false;           ///< the sequence is not the outermost axis: a gather along it ends, and a scatter begins, with a copy into order
  OperandScaling operand_scaling = OperandScaling::delayed;
  bool copies_scores = false;            ///< written attention scores are kept with a mask and a copy of them, as with dropout
  bool copies_attention_output = false;  ///< attention's output is kept twice: as its kernel wrote it, and in the order of the next product
  bool flattens_gradients = false;       ///< gradients are copied into one flat buffer for their reduction (DeepSpeed)
  bool whole_in_pipeline = false;        ///< of sharded states: in a pipeline weights are gathered once a step and gradients add up whole until the last micro-batch (FSDP)
  bool accumulates_whole = false;        ///< the same without a pipeline
  bool shards_over_context = false;      ///< of sharded states: context ranks hold parts of them too (FSDP); memory only
  DataType gradient_type = DataType::fp32;          ///< of the main gradients kept
  DataType gradient_reduce_type = DataType::fp32;   ///< on the wire
  friend bool operator==(const Software&, const Software&) = default;
};

}  // namespace trainyard
