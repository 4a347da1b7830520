// What a micro-batch adds to the memory of a stage, layer by layer in the order of its passes.
#include <algorithm>
#include <ranges>

#include "sim/cost/grid_product.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/measured_layer.hpp"
#include "sim/cost/memory.hpp"
#include "sim/cost/selective_recompute.hpp"
#include "sim/model/convolution.hpp"

namespace trainyard {
namespace {

/// Softmax output in 16 bits, kept where an attention kernel writes its scores (no dropout).
constexpr double kScoreBytes = 2;
/// Gathered logits are held as the list of parts, their concatenation and a copy more: 20 bytes each at the peak
/// against the 14 of an eager loss alone, in the layout sweep of Aleph Alpha (433 runs out of memory, 281 not).
constexpr double kGatheredCopies = 3;
/// An eager loss on logits cut over the tensor axis holds four fp32 tensors in its backward pass (log-softmax, zeroed gradient, their sum
/// and the result), 16 bytes a logit against 14. Source: PyTorch, torch/distributed/tensor/parallel/loss.py.
constexpr double kCutEagerLoss = 16.0 / 14;

/// Saved by a fused attention operator that runs unfused here: the normalised scores instead of the log-sum-exp.
Bytes unfused_scores(const Operator& op, const LayerCut& cut) {
  return Bytes(kScoreBytes * op.attention.heads * cut.tokens * cut.tokens) *
         (cut.sequences * remaining_share(op.cut, cut));
}

Bytes saved_by(const Operator& op, const LayerCut& cut, const DeviceType& device, const Software& software) {
  Bytes saved = op.saved.of(cut.tokens) * (cut.sequences * remaining_share(op.saved_cut, cut));
  if (op.kind == OperatorClass::attention && !has_attention_kernel(device, software.attention))
    saved += unfused_scores(op, cut);
  if (cut.tensor == 1 || cut.grid.members() > 1 || op.group != "loss") return saved;
  if (software.loss == LossKernel::eager && op.saved_cut == TensorCut::vocabulary) return saved * kCutEagerLoss;
  return saved + op.gathered.of(cut.tokens) * (kGatheredCopies * cut.sequences);
}

struct LayerActivations {
  Bytes all{}, dropped{}, logits{};
  Bytes products{};  ///< outputs that selective recompute keeps where it keeps products
};

LayerActivations activations_of(const LayerType& layer, const LayerCut& cut, const DeviceType& device,
                                DataType precision, const Software& software) {
  LayerActivations sum;
  if (layer.samples.forward_only) return sum;
  if (layer.only_measured()) sum.all = measured_at(curve_of(*layer.profile, device, cut.tensor), cut.sequences).saved;
  for (const Operator& op : layer.operators) {
    const Bytes saved = saved_by(op, cut, device, software);
    sum.all += saved;
    if (drops_input(op, layer, software)) sum.dropped += saved;
    if (op.group == "loss") sum.logits += saved;
  }
  if (software.selective_keeps_products) sum.products = kept_products(layer, cut, precision, software);
  return sum;
}

/// Selective recompute drops what it makes again: of attention what lies between Q, K, V and its output.
Bytes kept_by(const LayerActivations& layer, const LayerType& type, RecomputeKind recompute, Bytes layer_input) {
  if (!can_recompute(type)) return layer.all;
  switch (recompute) {
    case RecomputeKind::full:
    case RecomputeKind::every:
      return layer_input;
    case RecomputeKind::selective:
      return layer.products > Bytes(0) ? std::min(layer.all, layer.products + layer_input)
                                       : layer.all - layer.dropped;
    default:
      return layer.all;
  }
}

/// Gradients of the scores before and after their softmax, both held inside its backward pass; zero where no kernel
/// writes scores.
Bytes score_gradients(const LayerType& layer, const LayerCut& cut, const DeviceType& device, const Software& software) {
  Bytes scores{};
  for (const Operator& op : layer.operators) {
    if (op.kind == OperatorClass::attention && !has_attention_kernel(device, software.attention))
      scores += unfused_scores(op, cut);
    if (op.core_attention && op.name == "softmax")
      scores += op.output.of(cut.tokens) * (cut.sequences * remaining_share(op.cut, cut));
  }
  return scores * 2.0;
}

/// Gradient of the widest activation (or of the scores) and of a layer's input, held while a layer's backward pass
/// runs.
Bytes backward_transient(const LayerType& layer, const LayerCut& cut, const DeviceType& device,
                         const Workload& workload, double hidden) {
  double widest = 0, routed = 0;
  for (const Operator& op : layer.operators) {
    if (op.kind == OperatorClass::gemm && op.cut == TensorCut::column)
      widest = std::max(widest, op.gemm_n / cut.tensor);
    if (op.kind != OperatorClass::grouped_gemm || op.cut != TensorCut::routed_column) continue;
    routed = op.items_per_token *
             (op.gemm_n * remaining_share(op.cut, cut) + 2 * hidden * remaining_share(TensorCut::routed, cut));
  }
  const double rows = cut.sequences * cut.tokens;
  const Bytes element = element_size(workload.precision);
  Bytes held =
      std::max(element * (rows * std::max(widest, routed)), score_gradients(layer, cut, device, workload.software));
  held += element * (rows * hidden * remaining_share(TensorCut::sequence, cut));
  if (cut.sequence_parallel) held += element * (2 * rows * hidden);
  return held;
}

/// Where weight gradients are not added to the kept ones in the product (or leave a dummy of their size) they stand
/// beside them.
bool makes_weight_gradients(const Operator& op, const Software& software) {
  return op.trainable && (software.cached_gradient_dummies || !software.fused_gradient_accumulation);
}

/// Of a head, above what the loss keeps: its logits' gradients in the activations' type, those of its matrix and, where
/// sequence parallelism gathers, its whole input and the gradient of that come after the loss and count where they are
/// more than that kept; gradients of the norm's input and output in any case. Source: memory.md §2.8.
Bytes head_transient(const LayerType& layer, const LayerCut& cut, const Workload& workload, double hidden,
                     Bytes logits) {
  const auto head = std::ranges::find_if(
      layer.operators, [](const Operator& op) { return op.group == "head" && op.kind == OperatorClass::gemm; });
  if (head == layer.operators.end() || logits == Bytes(0)) return Bytes(0);
  const double rows = cut.sequences * cut.tokens, part = remaining_share(head->cut, cut);
  const Bytes element = element_size(workload.precision);
  Bytes after = element * (rows * head->gemm_n * part);
  if (makes_weight_gradients(*head, workload.software)) after += element * (head->gemm_n * head->gemm_k * part);
  if (cut.sequence_parallel) after += element * (2 * rows * hidden);
  return std::max(Bytes(0), after - logits) + element * (2 * rows * hidden * remaining_share(TensorCut::sequence, cut));
}

/// What a layer that sees samples in its own way reads of other such layers, at full recompute its whole input.
Bytes own_input(const Module& module, LayerId layer, const LayerCut& own, DataType precision) {
  double elements = 0;
  for (const LayerId input : inputs_of(module, layer)) {
    const LayerSamples& seen = module.types[index(module.layers[index(input)].type)].samples;
    elements += seen.tokens * seen.width;
  }
  return element_size(precision) * (own.sequences * elements);
}

}  // namespace

std::vector<RecomputeBlock> recompute_blocks(const Module& module, std::span<const LayerId> layers,
                                             std::span<const Recompute> recompute) {
  const auto in_blocks = [&](std::size_t i) {
    return recompute[i].kind == RecomputeKind::every &&
           can_recompute(module.types[index(module.layers[index(layers[i])].type)]);
  };
  std::vector<RecomputeBlock> blocks;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool joins = i > 0 && in_blocks(i) && in_blocks(i - 1) && recompute[i] == recompute[i - 1] &&
                       i - blocks.back().from < std::size_t(recompute[i].every);
    if (!joins) blocks.push_back({i, i});
    blocks.back().to = i + 1;
  }
  return blocks;
}

std::vector<LayerMemory> layer_memory(const Module& module, std::span<const LayerId> layers,
                                      std::span<const Recompute> recompute, const LayerCut& cut,
                                      const DeviceType& device, const Workload& workload,
                                      std::span<const LayerCut> each) {
  const Bytes layer_input = element_size(workload.precision) *
                            (cut.sequences * cut.tokens * module.hidden * remaining_share(TensorCut::sequence, cut));
  std::vector<LayerMemory> memory;
  for (const RecomputeBlock& block : recompute_blocks(module, layers, recompute))
    for (std::size_t i = block.from; i < block.to; ++i) {
      const LayerType& type = module.types[index(module.layers[index(layers[i])].type)];
      const LayerCut& own = each.empty() ? cut : each[i];
      const LayerActivations layer = activations_of(type, own, device, workload.precision, workload.software);
      const bool convolves = has_convolution(type);
      const Bytes input = type.only_measured() ? std::min(layer.all, measured_input(module, layers[i]) * cut.sequences)
                          : convolves          ? std::min(layer.all, own_input(module, layers[i], own, workload.precision))
                                               : layer_input;
      LayerMemory held;
      held.kept = i == block.from ? kept_by(layer, type, recompute[i].kind, input) : Bytes(0);
      held.rebuilt = layer.all - held.kept;
      held.logits = layer.logits;
      held.gathered = grid_blocks(type, own, workload.precision);
      held.transient = held.gathered;
      if (is_block(type)) held.transient += backward_transient(type, own, device, workload, convolves ? type.samples.width : module.hidden);
      held.transient = std::max(held.transient, head_transient(type, own, workload, module.hidden, layer.logits));
      memory.push_back(held);
    }
  return memory;
}

ActivationMemory activation_memory(const Module& module, std::span<const LayerId> layers, const LayerCut& cut,
                                   const DeviceType& device, const Workload& workload,
                                   std::span<const Recompute> recompute, std::span<const LayerCut> cuts) {
  const std::vector<Recompute> same(layers.size(), Recompute{cut.recompute, 1});
  const std::span<const Recompute> each = recompute.empty() ? std::span<const Recompute>(same) : recompute;
  const std::vector<LayerMemory> held = layer_memory(module, layers, each, cut, device, workload, cuts);
  ActivationMemory memory;
  // A layer's forward builds its whole set before a checkpoint drops it; layers after it hold nothing yet.
  for (const LayerMemory& layer : held) {
    memory.kept += layer.kept;
    memory.forward_peak = std::max(memory.forward_peak, memory.kept + layer.rebuilt + layer.gathered);
  }
  // What later layers kept is gone when a layer's backward starts.
  Bytes freed{};
  const std::vector<RecomputeBlock> blocks = recompute_blocks(module, layers, each);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    Bytes together{}, transient{};
    for (std::size_t i = block->from; i < block->to; ++i) {
      together += held[i].rebuilt;
      transient = std::max(transient, held[i].transient);
    }
    memory.backward_peak = std::max(memory.backward_peak, together + transient - freed);
    for (std::size_t i = block->from; i < block->to; ++i) freed += held[i].kept;
  }
  return memory;
}

}  // namespace trainyard
