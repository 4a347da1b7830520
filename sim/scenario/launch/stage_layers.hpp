// Megatron-LM's ways of cutting layers into stages and chunks. Private to sim/scenario/launch.
#pragma once

#include <string>
#include <string_view>

#include "sim/scenario/launch/settings.hpp"

namespace trainyard::launch {

/// Names of the arguments that messages speak of.
struct StageArguments {
  std::string_view layers, pipeline;
};

/// `raw.layers_per_chunk, raw.chunks, raw.first_layers, raw.last_layers, raw.embedding_is_a_layer, raw.loss_is_a_layer`
/// to `plan.chunks` and, where the visits (chunk c of stage s is visit c · stages + s) are unequal, `plan.layers`.
void read_stage_layers(Reading& reading, const StageArguments& names, Diagnostics& diagnostics);
/// The other way; what it cannot say ("" = nothing).
[[nodiscard]] std::string write_stage_layers(Settings& settings);
/// Layers of the visit with the fewest.
[[nodiscard]] std::int64_t fewest_layers(const Settings& settings);
/// `[14, 13, 13]` as numbers.
[[nodiscard]] std::vector<std::int64_t> counts_of(const std::string& list);

}  // namespace trainyard::launch
