#include "sim/cost/memory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cost/grid_product.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/cost/measured_layer.hpp"
#include "sim/cost/selective_recompute.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

constexpr double kFragmentationWithTensor = 0.03, kFragmentationWithout = 0.065;
/// Softmax output in 16 bits, kept where an attention kernel writes its scores (no dropout).
constexpr double kScoreBytes = 2;
/// Gathered logits are held as the list of parts, their concatenation and a copy more: 20 bytes each at the peak against the 14 of
/// an eager loss alone, in the layout sweep of Aleph Alpha (433 runs out of memory, 281 not).
constexpr double kGatheredCopies = 3;

bool is_trained_matrix(const Operator& op) {
  return (op.kind == OperatorClass::gemm || op.kind == OperatorClass::grouped_gemm) && op.parameters > 0 && op.trainable;
}

/// Saved by a fused attention operator that runs unfused here: the normalised scores instead of the log-sum-exp.
Bytes unfused_scores(const Operator& op, const LayerCut& cut) {
  return Bytes(kScoreBytes * op.attention.heads * cut.tokens * cut.tokens) * (cut.sequences * remaining_share(op.cut, cut));
}

Bytes saved_by(const Operator& op, const LayerCut& cut, const DeviceType& device, const Software& software) {
  Bytes saved = op.saved.of(cut.tokens) * (cut.sequences * remaining_share(op.saved_cut, cut));
  if (op.kind == OperatorClass::attention && !has_attention_kernel(device, software.attention)) saved += unfused_scores(op, cut);
  if (cut.tensor > 1 && cut.grid.members() == 1 && op.group == "loss") saved += op.gathered.of(cut.tokens) * (kGatheredCopies * cut.sequences);
  return saved;
}

struct LayerActivations {
  Bytes all{}, core_attention{}, logits{};
  Bytes products{};  ///< outputs that selective recompute keeps where it keeps products
};

LayerActivations activations_of(const LayerType& layer, const LayerCut& cut, const DeviceType& device, DataType precision,
                                const Software& software) {
  LayerActivations sum;
  if (layer.samples.forward_only) return sum;
  if (layer.only_measured()) sum.all = measured_at(curve_of(*layer.profile, device, cut.tensor), cut.sequences).saved;
  for (const Operator& op : layer.operators) {
    const Bytes saved = saved_by(op, cut, device, software);
    sum.all += saved;
    if (op.core_attention) sum.core_attention += saved;
    if (op.group == "loss") sum.logits += saved;
  }
  if (software.selective_keeps_products) sum.products = kept_products(layer, cut, precision, software);
  return sum;
}

/// Q, K and V are kept by selective recompute, which drops only what lies between them and the output of the attention.
Bytes kept_by(const LayerActivations& layer, const LayerType& type, RecomputeKind recompute, Bytes layer_input) {
  if (!can_recompute(type)) return layer.all;
  switch (recompute) {
    case RecomputeKind::full:
    case RecomputeKind::every: return layer_input;
    case RecomputeKind::selective:
      return layer.products > Bytes(0) ? std::min(layer.all, layer.products + layer_input) : layer.all - layer.core_attention;
    default: return layer.all;
  }
}

/// Gradient of the widest activation and of a layer's input, held while a layer's backward pass runs.
Bytes backward_transient(const LayerType& layer, const LayerCut& cut, DataType precision, double hidden) {
  double widest = 0, routed = 0;
  for (const Operator& op : layer.operators) {
    if (op.kind == OperatorClass::gemm && op.cut == TensorCut::column) widest = std::max(widest, op.gemm_n / cut.tensor);
    if (op.kind != OperatorClass::grouped_gemm || op.cut != TensorCut::routed_column) continue;
    routed = op.items_per_token * (op.gemm_n * remaining_share(op.cut, cut) + 2 * hidden * remaining_share(TensorCut::routed, cut));
  }
  const double rows = cut.sequences * cut.tokens;
  Bytes held = element_size(precision) * (rows * std::max(widest, routed) + rows * hidden * remaining_share(TensorCut::sequence, cut));
  if (cut.sequence_parallel) held += element_size(precision) * (2 * rows * hidden);
  return held;
}

/// Equal parts where no device holds such a slice: the common refinement of two measured sizes.
double measured_parameters(const LayerProfile& profile, int tensor) {
  const auto found = profile.parameters.find(tensor);
  return found == profile.parameters.end() ? profile.whole_parameters() / tensor : found->second;
}

double largest_distinct_matrices(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  double largest = 0;
  for (const LayerId id : layers) {
    const LayerType& type = module.types[index(module.layers[index(id)].type)];
    if (!has_attention(type)) continue;
    double sum = 0;
    for (const Operator& op : type.operators)
      if (is_trained_matrix(op)) sum += op.gemm_n * op.gemm_k * (op.items > 1 ? 1.0 / (cut.experts.apart ? cut.experts.tensor : cut.tensor) : parameter_share(op, cut));
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Of the layers' operators that `counts`; norms and biases are replicated however activations are split.
template <class Counts>
double sum_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut, Counts counts, bool measured = true) {
  double sum = 0;
  for (const LayerId id : layers) {
    const LayerType& type = module.types[index(module.layers[index(id)].type)];
    if (type.only_measured() && measured) sum += measured_parameters(*type.profile, cut.tensor);
    for (const Operator& op : type.operators)
      if (counts(op)) sum += op.parameters * parameter_share(op, cut);
  }
  return sum;
}

/// Bytes of the tables whose rows are updated where they are read.
template <class Amount>
Bytes sum_tables(const Module& module, std::span<const LayerId> layers, const LayerCut& cut, Amount amount) {
  Bytes sum{};
  for (const LayerId id : layers)
    for (const Operator& op : module.types[index(module.layers[index(id)].type)].operators)
      if (op.row_state_bytes > 0) sum += Bytes(amount(op) * parameter_share(op, cut));
  return sum;
}

/// In the workload's precision, tables in their own type, or with `narrow_weights` in that of the products.
Bytes weight_bytes(const Module& module, std::span<const LayerId> layers, const LayerCut& cut, const Workload& workload) {
  const auto narrow = [&](const Operator& op) { return workload.software.narrow_weights && op.product_type.has_value(); };
  const double all = sum_parameters(module, layers, cut, [](const Operator& op) { return op.row_state_bytes == 0; });
  const Bytes tables = sum_tables(module, layers, cut, [](const Operator& op) { return element_size(op.weight_type).value * op.parameters; });
  if (!workload.software.narrow_weights || !workload.product_type) return tables + element_size(workload.precision) * all;
  const double few_bits = sum_parameters(module, layers, cut, narrow);
  return tables + element_size(workload.precision) * (all - few_bits) + element_size(*workload.product_type) * few_bits;
}

}  // namespace

double parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_parameters(module, layers, cut, [](const Operator&) { return true; });
}

double trained_parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_parameters(module, layers, cut, [](const Operator& op) { return op.trainable; });
}

double trained_expert_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  if (!cut.experts.apart) return 0;
  return sum_parameters(module, layers, cut, [](const Operator& op) { return op.trainable && op.items > 1; }, false);
}

double trained_dense_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_parameters(module, layers, cut, [&](const Operator& op) { return op.trainable && !(cut.experts.apart && op.items > 1); });
}

Bytes table_bytes(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_tables(module, layers, cut, [](const Operator& op) { return element_size(op.weight_type).value * op.parameters + op.row_state_bytes; });
}

StaticMemory static_memory(const Module& module, std::span<const LayerId> layers, const LayerCut& cut, const Workload& workload,
                           int holders, int zero, int expert_holders) {
  const double all = parameters_on_device(module, layers, cut), trained = trained_parameters_on_device(module, layers, cut);
  const bool master_copy = element_size(workload.precision) < Bytes(4);
  StaticMemory held;
  if (zero == 3) {
    held.gradients = element_size(DataType::fp32) * (trained / holders);
    held.weights = held.gradients + element_size(workload.precision) * ((all - trained) / holders);
    held.optimizer = Bytes(8) * (trained / holders);
    return held;
  }
  const double experts = trained_expert_parameters(module, layers, cut);
  const double part = (trained - experts) / holders + experts / (expert_holders > 0 ? expert_holders : holders);
  held.weights = weight_bytes(module, layers, cut, workload);
  held.gradients = element_size(workload.software.gradient_type) * (zero >= 2 ? part : trained);
  held.optimizer = Bytes(master_copy ? 12 : 8) * (zero >= 1 ? part : trained);
  held.optimizer += sum_tables(module, layers, cut, [](const Operator& op) { return op.row_state_bytes; });
  if (workload.software.keeps_gradient_copies && master_copy) {
    if (workload.software.gradient_type == DataType::fp32) held.gradients += element_size(workload.precision) * trained;
    held.optimizer += element_size(DataType::fp32) * (zero >= 1 ? part : trained);
  }
  if (workload.software.cached_gradient_dummies)
    held.buffers = element_size(workload.precision) * largest_distinct_matrices(module, layers, cut);
  return held;
}

std::vector<RecomputeBlock> recompute_blocks(const Module& module, std::span<const LayerId> layers, std::span<const Recompute> recompute) {
  const auto in_blocks = [&](std::size_t i) {
    return recompute[i].kind == RecomputeKind::every && can_recompute(module.types[index(module.layers[index(layers[i])].type)]);
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

std::vector<LayerMemory> layer_memory(const Module& module, std::span<const LayerId> layers, std::span<const Recompute> recompute,
                                      const LayerCut& cut, const DeviceType& device, const Workload& workload, std::span<const LayerCut> each) {
  const Bytes layer_input = element_size(workload.precision) *
                            (cut.sequences * cut.tokens * module.hidden * remaining_share(TensorCut::sequence, cut));
  std::vector<LayerMemory> memory;
  for (const RecomputeBlock& block : recompute_blocks(module, layers, recompute))
    for (std::size_t i = block.from; i < block.to; ++i) {
      const LayerType& type = module.types[index(module.layers[index(layers[i])].type)];
      const LayerCut& own = each.empty() ? cut : each[i];
      const LayerActivations layer = activations_of(type, own, device, workload.precision, workload.software);
      const Bytes input = type.only_measured() ? std::min(layer.all, measured_input(module, layers[i]) * cut.sequences) : layer_input;
      LayerMemory held;
      held.kept = i == block.from ? kept_by(layer, type, recompute[i].kind, input) : Bytes(0);
      held.rebuilt = layer.all - held.kept;
      held.logits = layer.logits;
      held.gathered = grid_blocks(type, own, workload.precision);
      held.transient = held.gathered;
      if (has_attention(type)) held.transient += backward_transient(type, own, workload.precision, module.hidden);
      memory.push_back(held);
    }
  return memory;
}

ActivationMemory activation_memory(const Module& module, std::span<const LayerId> layers, const LayerCut& cut,
                                   const DeviceType& device, const Workload& workload, std::span<const Recompute> recompute,
                                   std::span<const LayerCut> cuts) {
  const std::vector<Recompute> same(layers.size(), Recompute{cut.recompute, 1});
  const std::span<const Recompute> each = recompute.empty() ? std::span<const Recompute>(same) : recompute;
  const std::vector<LayerMemory> held = layer_memory(module, layers, each, cut, device, workload, cuts);
  ActivationMemory memory;
  Bytes built{}, rebuilt{}, transient{}, logits{}, gathered{};
  for (const LayerMemory& layer : held) {
    memory.kept += layer.kept;
    logits += layer.logits;
    built = std::max(built, layer.rebuilt);
    transient = std::max(transient, layer.transient);
    gathered = std::max(gathered, layer.gathered);
  }
  for (const RecomputeBlock& block : recompute_blocks(module, layers, each)) {
    Bytes together{};
    for (std::size_t i = block.from; i < block.to; ++i) together += held[i].rebuilt;
    rebuilt = std::max(rebuilt, together);
  }
  // A layer's forward builds its whole set before a checkpoint drops it; the logits are gone when the first decoder's backward starts.
  memory.forward_peak = memory.kept + built + gathered;
  memory.backward_peak = std::max(Bytes(0), rebuilt + transient - logits);
  return memory;
}

Bytes reserved_memory(const DeviceType& device, Bytes allocated, int tensor) {
  return device.reserved + allocated * (tensor > 1 ? kFragmentationWithTensor : kFragmentationWithout);
}

std::string shortfall_text(const MemoryReport& memory) {
  std::string parts;
  for (int i = 0; i < kMemoryClasses; ++i)
    if (memory.at_peak[i] > Bytes(0))
      parts += fmt::format("{}{} {}", parts.empty() ? "" : " · ", name(static_cast<MemoryClass>(i)), to_text(memory.at_peak[i]));
  return fmt::format("does not fit: {} lacks {} ({}; of {})", memory.device, to_text(memory.missing()), parts, to_text(memory.capacity));
}

}  // namespace trainyard
