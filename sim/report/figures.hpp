// What is computed from a result for printing; a figure that a case does not have is absent.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/model/case_result.hpp"

namespace trainyard {

/// SI units, the unit is in the name. Samples without tokens have no figures a token, layers without FLOPs none a FLOP.
struct Figures {
  std::optional<std::int64_t> gpus;
  std::optional<double> step_time_s, first_step_s;
  std::optional<double> tokens_per_s, samples_per_s, tokens_per_s_per_gpu;
  std::optional<double> model_tflops_per_gpu, hardware_tflops_per_gpu;  ///< 10^12 FLOP/s
  std::optional<double> mfu, hfu;  ///< against the sum of the devices' dense peaks; hfu counts recompute
  std::optional<double> bubble_fraction, exposed_communication_fraction;
  std::optional<double> peak_host_memory_bytes;
  std::optional<double> goodput_tokens_per_s, goodput_samples_per_s;  ///< over a horizon; prices are then of the whole job
  std::optional<double> price_usd_per_h, usd_per_million_tokens, usd_per_million_samples;  ///< absent when a price is unknown
};

[[nodiscard]] Figures figures_of(const CaseResult& result);

/// Whether `step.memory` says something: a case that ran, or one that is known not to fit.
[[nodiscard]] bool has_memory(const CaseResult& result);

}  // namespace trainyard
