#include "sim/model/step_report.hpp"

namespace trainyard {

Seconds TimeBreakdown::total() const {
  return forward + backward + recompute + tensor + pipeline + data + expert + context + optimizer + offload + bubble + other;
}

}  // namespace trainyard
