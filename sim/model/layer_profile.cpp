#include "sim/model/layer_profile.hpp"

#include <algorithm>

namespace trainyard {

const MeasuredCurve* LayerProfile::find(const std::string& device, int tensor) const {
  const auto found =
      std::ranges::find_if(curves, [&](const MeasuredCurve& curve) { return curve.device == device && curve.tensor == tensor; });
  return found == curves.end() ? nullptr : &*found;
}

double LayerProfile::whole_parameters() const {
  return parameters.empty() ? 0 : parameters.begin()->second * parameters.begin()->first;
}

}  // namespace trainyard
