#include "sim/cost/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/units/text.hpp"

namespace trainyard {
namespace {

/// Of DeepSpeed's reductions: MEMORY_OPT_ALLREDUCE_SIZE, and the default of ZeRO's reduce_bucket_size.
constexpr double kFlatGradients = 500'000'000;
constexpr double kFragmentationWithTensor = 0.03, kFragmentationWithout = 0.065;
bool is_trained_matrix(const Operator& op) {
  return (op.kind == OperatorClass::gemm || op.kind == OperatorClass::grouped_gemm) && op.parameters > 0 &&
         op.trainable;
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
    if (!is_block(type)) continue;
    double sum = 0;
    for (const Operator& op : type.operators)
      if (is_trained_matrix(op))
        sum += op.gemm_n * op.gemm_k *
               (op.items > 1 ? 1.0 / (cut.experts.apart ? cut.experts.tensor : cut.tensor) : parameter_share(op, cut));
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Of the layers' operators that `counts`; norms and biases are replicated however activations are split.
template <class Counts>
double sum_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut, Counts counts,
                      bool measured = true) {
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
Bytes weight_bytes(const Module& module, std::span<const LayerId> layers, const LayerCut& cut,
                   const Workload& workload) {
  const auto narrow = [&](const Operator& op) {
    return workload.software.narrow_weights && op.product_type.has_value();
  };
  const double all = sum_parameters(module, layers, cut, [](const Operator& op) { return op.row_state_bytes == 0; });
  const Bytes tables = sum_tables(
      module, layers, cut, [](const Operator& op) { return element_size(op.weight_type).value * op.parameters; });
  if (!workload.software.narrow_weights || !workload.product_type)
    return tables + element_size(workload.precision) * all;
  const double few_bits = sum_parameters(module, layers, cut, narrow);
  return tables + element_size(workload.precision) * (all - few_bits) + element_size(*workload.product_type) * few_bits;
}

/// Tables of heads whose embedding is among the layers too: one table serves both.
double tables_held_twice(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  double sum = 0;
  for (const LayerId id : layers) {
    const Layer& layer = module.layers[index(id)];
    if (layer.tied_to.empty() || std::ranges::find(layers, layer.tied_to.front()) == layers.end()) continue;
    for (const Operator& op : module.types[index(layer.type)].operators)
      if (op.cut == TensorCut::vocabulary) sum += op.parameters * parameter_share(op, cut);
  }
  return sum;
}

}  // namespace

double parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_parameters(module, layers, cut, [](const Operator&) { return true; });
}

double expert_parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  if (!cut.experts.apart) return 0;
  return sum_parameters(module, layers, cut, [](const Operator& op) { return op.items > 1; }, false);
}

double trained_parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_parameters(module, layers, cut, [](const Operator& op) { return op.trainable; });
}

double trained_expert_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  if (!cut.experts.apart) return 0;
  return sum_parameters(
      module, layers, cut, [](const Operator& op) { return op.trainable && op.items > 1; }, false);
}

double trained_dense_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_parameters(module, layers, cut,
                        [&](const Operator& op) { return op.trainable && !(cut.experts.apart && op.items > 1); });
}

Bytes table_bytes(const Module& module, std::span<const LayerId> layers, const LayerCut& cut) {
  return sum_tables(module, layers, cut, [](const Operator& op) {
    return element_size(op.weight_type).value * op.parameters + op.row_state_bytes;
  });
}

StaticMemory static_memory(const Module& module, std::span<const LayerId> layers, const LayerCut& cut,
                           const Workload& workload, int holders, int zero, int expert_holders) {
  const double twice = tables_held_twice(module, layers, cut);
  const double all = parameters_on_device(module, layers, cut) - twice,
               trained = trained_parameters_on_device(module, layers, cut) - twice;
  const bool master_copy = element_size(workload.precision) < Bytes(4);
  const double experts = trained_expert_parameters(module, layers, cut), of_experts = expert_holders > 0 ? expert_holders : holders;
  const double part = (trained - experts) / holders + experts / of_experts;
  StaticMemory held;
  if (zero == 3) {
    const double all_experts = expert_parameters_on_device(module, layers, cut);
    const double frozen = (all - all_experts - (trained - experts)) / holders + (all_experts - experts) / of_experts;
    held.gradients = element_size(DataType::fp32) * part;
    held.weights = held.gradients + element_size(workload.precision) * frozen;
    held.optimizer = Bytes(8) * part;
    return held;
  }
  held.weights = weight_bytes(module, layers, cut, workload) - element_size(workload.precision) * twice;
  const Bytes gradient = master_copy ? element_size(workload.software.gradient_type) : element_size(workload.precision);
  held.gradients = gradient * (zero >= 2 ? part : trained);
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

int state_parts(int shards, const LayerCut& cut, const Software& software) { return shards * (software.shards_over_context ? cut.context : 1); }

void keep_whole(StaticMemory& held, const Module& module, std::span<const LayerId> layers, const LayerCut& cut, const Workload& workload) {
  held.buffers += element_size(workload.precision) * parameters_on_device(module, layers, cut);
  held.gradients = element_size(DataType::fp32) * trained_parameters_on_device(module, layers, cut);
}

Bytes flat_gradients(const Module& module, std::span<const LayerId> layers, const LayerCut& cut, const Workload& workload) {
  if (!workload.software.flattens_gradients) return Bytes(0);
  const Bytes gradient = std::max(element_size(workload.software.gradient_reduce_type), element_size(workload.precision));
  return gradient * std::min(kFlatGradients, trained_parameters_on_device(module, layers, cut));
}

Bytes reserved_memory(const DeviceType& device, Bytes allocated, int tensor) {
  return device.reserved + allocated * (tensor > 1 ? kFragmentationWithTensor : kFragmentationWithout);
}

std::string shortfall_text(const MemoryReport& memory) {
  std::string parts;
  for (int i = 0; i < kMemoryClasses; ++i)
    if (memory.at_peak[i] > Bytes(0))
      parts += fmt::format("{}{} {}", parts.empty() ? "" : " · ", name(static_cast<MemoryClass>(i)),
                           to_text(memory.at_peak[i]));
  return fmt::format("does not fit: {} lacks {} ({}; of {})", memory.device, to_text(memory.missing()), parts,
                     to_text(memory.capacity));
}

}  // namespace trainyard
