// Megatron-LM's arguments of experts, latent attention and prediction layers. Private to sim/scenario/launch.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/launch/argument_table.hpp"

namespace trainyard::launch {

[[nodiscard]] std::vector<Argument> expert_arguments();
/// What these arguments do not say here, and what is refused.
[[nodiscard]] std::vector<Remark> expert_remarks();

/// Reads the `raw.*` of these arguments into sizes of the model, the layout of experts, routing and switches.
void experts_to_settings(Reading& reading, Diagnostics& diagnostics);
/// The other way; what it cannot say ("" = nothing).
[[nodiscard]] std::string experts_from_settings(Settings& settings);

/// A Python expression of a list of ones and zeros, such as `([0]*3+[1]*58)`; empty: it is none.
[[nodiscard]] std::vector<int> ones_and_zeros(const std::string& expression);

}  // namespace trainyard::launch
