#include "sim/cost/gradient_traffic.hpp"

#include <algorithm>

namespace trainyard {
namespace {

constexpr double kExposedEpilogue = 0.45;

}  // namespace

Bytes gradient_traffic(double parameters, DataType made, const LayerCut& cut, const Software& software, bool by_product) {
  const Bytes own = element_size(made);
  if (cut.sharded) return (own + element_size(software.gradient_reduce_type)) * parameters;
  const Bytes kept = element_size(software.gradient_type);
  if (software.fused_gradient_accumulation && by_product) return std::max(Bytes(0), kept * 2.0 - own) * (kExposedEpilogue * parameters);
  if (made == software.gradient_type) return kept * (3 * cut.accumulated * parameters);
  return (own + kept * 2.0) * parameters;
}

Bytes gathered_weight_traffic(double parameters, DataType type) { return element_size(type) * (2 * parameters); }

Bytes table_gradient_traffic(double parameters, DataType type) { return element_size(type) * parameters; }

}  // namespace trainyard
