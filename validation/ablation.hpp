// What each part of the model is worth: predictions with one of them switched off.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "validation/comparison.hpp"

namespace trainyard {

enum class Ablation {
  none,
  flat_efficiency,      ///< one efficiency for all shapes: that of a product of 8192 x 8192 x 8192, of attention over 4,096 tokens of 32 heads
  alone_communication,  ///< closed-form communication that never meets other traffic
  no_overlap,           ///< nothing runs beside computing
  interference,         ///< the other way round: kernels and collectives slow each other (`cluster.interference`)
  no_launches           ///< kernels start without a gap, hosts issue them in no time
};

struct AblationName {
  Ablation what;
  const char* text;
};
/// In the order of the table; the first switches nothing.
[[nodiscard]] const std::vector<AblationName>& ablations();

/// Changes what a scenario's cluster and software say. `alone_communication` is an option of its cases instead.
void ablate(Ablation what, Variant& variant);

/// Median and 90th percentile of the step times' errors by source, a column each. `rows` in the order of `ablations()`.
[[nodiscard]] std::string ablation_table(const std::vector<std::vector<ComparedRow>>& rows);

}  // namespace trainyard
