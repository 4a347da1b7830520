// Recommendation models (DLRM): embedding tables, two MLPs and what joins them.
#pragma once

#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "workloads/operators.hpp"

namespace trainyard {

/// The value of `model: {dlrm: ..}`.
[[nodiscard]] Schema recommendation_schema();

/// A model of workloads/recommendation.yaml; `model` is what stands behind `dlrm`.
struct CatalogueRecommendation {
  std::string name, source;
  double published_parameters = 0, rounding = 0;
  ConfigValue model;
};
/// In file order; read once.
[[nodiscard]] const std::vector<CatalogueRecommendation>& catalogue_recommendations();
/// The entry of that name, or null.
[[nodiscard]] const CatalogueRecommendation* find_recommendation(const std::string& name);
/// Its layers, in bf16 with tables in fp32.
[[nodiscard]] Module recommendation_module(const CatalogueRecommendation& model);

/// Layers: tables, bottom, interaction, top. A sample is one row of every product (LayerSamples::tokens 1). Pieces of
/// tables are the items of the look-up; what each is asked for goes to `workload.data.item_load`. Model FLOPs are those
/// of the MLPs and the interaction. Sources: Naumov et al., arXiv 1906.00091 §2 (the model); Mudigere et al., arXiv
/// 2104.05158 §4 (row-wise AdaGrad in the backward pass).
void build_recommendation(const View& section, const OperatorContext& context, Workload& workload,
                          Diagnostics& diagnostics);

}  // namespace trainyard
