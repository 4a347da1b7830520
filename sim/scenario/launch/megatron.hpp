// Megatron-LM's table and rules; DeepSpeed's launches of Megatron's models use them too. Private to
// sim/scenario/launch.
#pragma once

#include "sim/scenario/launch/framework.hpp"

namespace trainyard::launch {

[[nodiscard]] const ArgumentTable& megatron_table();
/// Reads `raw.*` of Megatron's arguments: precision, model, layers of stages, recompute, switches.
void megatron_to_settings(Reading& reading, Diagnostics& diagnostics);
[[nodiscard]] std::string megatron_from_settings(Settings& settings);

}  // namespace trainyard::launch
