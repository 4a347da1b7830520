// Recommendation models (DLRM): embedding tables, two MLPs and what joins them.
#pragma once

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "workloads/operators.hpp"

namespace trainyard {

/// The value of `model: {dlrm: ..}`.
[[nodiscard]] Schema recommendation_schema();

/// Layers: tables, bottom, interaction, top. A sample is one row of every product (LayerSamples::tokens 1). Pieces of
/// tables are the items of the look-up; what each is asked for goes to `workload.data.item_load`. Model FLOPs are those
/// of the MLPs and the interaction. Sources: Naumov et al., arXiv 1906.00091 §2 (the model); Mudigere et al., arXiv
/// 2104.05158 §4 (row-wise AdaGrad in the backward pass).
void build_recommendation(const View& section, const OperatorContext& context, Workload& workload,
                          Diagnostics& diagnostics);

}  // namespace trainyard
