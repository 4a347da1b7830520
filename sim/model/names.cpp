// The words for enumerators, in one place.
#include <array>
#include <utility>

#include "sim/model/data_type.hpp"
#include "sim/model/operator_class.hpp"
#include "sim/model/software.hpp"
#include "sim/model/task_graph.hpp"

namespace trainyard {
namespace {

template <class E, std::size_t N>
using Words = std::array<std::pair<E, std::string_view>, N>;

template <class E, std::size_t N>
std::string_view word(const Words<E, N>& words, E value) {
  for (const auto& [known, text] : words)
    if (known == value) return text;
  return "?";
}

template <class E, std::size_t N>
std::optional<E> value_of(const Words<E, N>& words, std::string_view text) {
  for (const auto& [known, spelled] : words)
    if (spelled == text) return known;
  return std::nullopt;
}

constexpr Words<DataType, 8> kDataTypes{{{DataType::fp64, "fp64"},
                                         {DataType::fp32, "fp32"},
                                         {DataType::tf32, "tf32"},
                                         {DataType::fp16, "fp16"},
                                         {DataType::bf16, "bf16"},
                                         {DataType::fp8, "fp8"},
                                         {DataType::fp4, "fp4"},
                                         {DataType::int8, "int8"}}};

constexpr Words<OperatorClass, 9> kOperatorClasses{{{OperatorClass::gemm, "gemm"},
                                                    {OperatorClass::attention, "attention"},
                                                    {OperatorClass::grouped_gemm, "grouped_gemm"},
                                                    {OperatorClass::memory_bound, "memory_bound"},
                                                    {OperatorClass::embedding, "embedding"},
                                                    {OperatorClass::optimizer, "optimizer"},
                                                    {OperatorClass::communication, "communication"},
                                                    {OperatorClass::host, "host"},
                                                    {OperatorClass::measured, "measured"}}};

constexpr Words<AttentionKernel, 6> kAttentionKernels{{{AttentionKernel::unfused, "unfused"},
                                                       {AttentionKernel::fused_softmax, "fused_softmax"},
                                                       {AttentionKernel::flash_1, "flash_1"},
                                                       {AttentionKernel::flash_triton, "flash_triton"},
                                                       {AttentionKernel::flash_2, "flash_2"},
                                                       {AttentionKernel::cudnn, "cudnn"}}};

constexpr Words<LossKernel, 4> kLossKernels{{{LossKernel::eager, "eager"},
                                             {LossKernel::vocab_parallel, "vocab_parallel"},
                                             {LossKernel::vocab_parallel_fused, "vocab_parallel_fused"},
                                             {LossKernel::fused_in_place, "fused_in_place"}}};
constexpr Words<OperandScaling, 3> kOperandScalings{
    {{OperandScaling::delayed, "delayed"}, {OperandScaling::tensorwise, "tensorwise"}, {OperandScaling::rowwise, "rowwise"}}};

constexpr std::array kTaskKinds{"forward", "backward", "recompute", "weight_gradient", "tensor",  "pipeline",
                                "data",    "expert",   "context",   "optimizer",       "offload", "other"};
constexpr std::array kMemoryClassNames{"weights", "gradients", "optimizer", "activations", "buffers", "reserved"};
static_assert(kMemoryClassNames.size() == kMemoryClasses);

constexpr Words<RecomputedPart, 5> kRecomputedParts{{{RecomputedPart::attention, "attention"},
                                                     {RecomputedPart::norms, "norms"},
                                                     {RecomputedPart::expert_activation, "expert_activation"},
                                                     {RecomputedPart::latent, "latent"},
                                                     {RecomputedPart::mlp, "mlp"}}};

}  // namespace

std::string_view name(DataType type) { return word(kDataTypes, type); }
std::optional<DataType> data_type_from(std::string_view text) { return value_of(kDataTypes, text); }
std::string_view name(OperatorClass kind) { return word(kOperatorClasses, kind); }
std::string_view name(AttentionKernel kernel) { return word(kAttentionKernels, kernel); }
std::optional<AttentionKernel> attention_kernel_from(std::string_view text) { return value_of(kAttentionKernels, text); }
std::string_view name(LossKernel kernel) { return word(kLossKernels, kernel); }
std::optional<LossKernel> loss_kernel_from(std::string_view text) { return value_of(kLossKernels, text); }
std::string_view name(OperandScaling scaling) { return word(kOperandScalings, scaling); }
std::optional<OperandScaling> operand_scaling_from(std::string_view text) { return value_of(kOperandScalings, text); }
std::string_view name(RecomputedPart part) { return word(kRecomputedParts, part); }
std::optional<RecomputedPart> recomputed_part_from(std::string_view text) { return value_of(kRecomputedParts, text); }
const char* name(TaskKind kind) { return kTaskKinds.at(static_cast<std::size_t>(kind)); }
const char* name(MemoryClass kind) { return kMemoryClassNames.at(static_cast<std::size_t>(kind)); }

Bytes element_size(DataType type) {
  switch (type) {
    case DataType::fp64: return Bytes(8);
    case DataType::fp32:
    case DataType::tf32: return Bytes(4);
    case DataType::fp16:
    case DataType::bf16: return Bytes(2);
    case DataType::fp8:
    case DataType::int8: return Bytes(1);
    case DataType::fp4: return Bytes(0.5);
  }
  return Bytes(0);
}

}  // namespace trainyard
