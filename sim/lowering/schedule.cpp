#include "sim/lowering/schedule.hpp"

namespace trainyard {

std::vector<ScheduledOperation> stage_schedule(int micro_batches, int in_flight) {
  std::vector<ScheduledOperation> order;
  order.reserve(2 * micro_batches);
  int forward = 0, backward = 0;
  while (backward < micro_batches) {
    if (forward < micro_batches && forward - backward < in_flight)
      order.push_back({true, forward++});
    else
      order.push_back({false, backward++});
  }
  return order;
}

}  // namespace trainyard
