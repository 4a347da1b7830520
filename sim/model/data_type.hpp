// Number formats of weights, activations and gradients.
#pragma once

#include <optional>
#include <string_view>

#include "sim/units/quantity.hpp"

namespace trainyard {

enum class DataType { fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8 };

[[nodiscard]] std::string_view name(DataType type);
[[nodiscard]] std::optional<DataType> data_type_from(std::string_view name);
/// Bytes of one element (tf32 is stored as 4, fp4 as one half).
[[nodiscard]] Bytes element_size(DataType type);

}  // namespace trainyard
