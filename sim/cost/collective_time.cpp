#include "sim/cost/collective_time.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

double traffic_factor(CollectiveKind kind, int members) {
  const double others = double(members - 1) / members;
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * others;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather: return others;
    case CollectiveKind::send: return 1;
  }
  return 1;
}

int algorithm_steps(CollectiveKind kind, int hops) {
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * (hops - 1);
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather: return hops - 1;
    case CollectiveKind::send: return 1;
  }
  return 1;
}

}  // namespace

CollectiveCost collective_cost(const CollectiveShape& shape, const Transport& transport, Bytes size) {
  CollectiveCost cost;
  cost.bytes = Bytes(std::round(size.value * traffic_factor(shape.kind, shape.members) / shape.rings));
  const Seconds transfer = cost.bytes / shape.ring_rate;
  const Seconds steps = std::max(transport.step * double(shape.hops - 1),
                                 shape.hop_latency * double(algorithm_steps(shape.kind, shape.hops)));
  cost.delay = transport.setup + steps + Seconds(std::sqrt(transfer.value * transport.ramp.value));
  return cost;
}

}  // namespace trainyard
