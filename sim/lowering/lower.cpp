#include "sim/lowering/lower.hpp"

#include <algorithm>

#include "sim/lowering/emission.hpp"

namespace trainyard {
namespace {

void note_extrapolated(const Cluster& cluster, Lowered& lowered) {
  std::vector<bool> seen(cluster.device_types.size(), false);
  for (const DeviceId device : lowered.used) {
    const DeviceTypeId type = cluster.devices[index(device)].type;
    if (seen[index(type)]) continue;
    seen[index(type)] = true;
    if (cluster.device_types[index(type)].extrapolated)
      lowered.extrapolated.push_back(cluster.device_types[index(type)].name + ": kernel times inherited from another generation");
  }
}

}  // namespace

Lowered lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const Router& router, const LoweringOptions& options) {
  const Placement placement = place(plan, workload);
  const TrafficMap traffic = traffic_of(placement, router);
  const Symmetry symmetry = find_symmetry(cluster, placement, traffic, options.symmetry);
  Lowered lowered;
  for (std::size_t i = 0; i < cluster.devices.size(); ++i)
    if (symmetry.devices.class_of[i] >= 0) lowered.used.push_back(id_at<DeviceId>(i));
  note_extrapolated(cluster, lowered);
  const Resources resources = make_resources(cluster, placement, traffic, symmetry, lowered);
  const std::vector<Bucket> buckets = make_buckets(placement, traffic, workload);
  Emission emission{cluster, workload, placement, traffic, symmetry, resources, buckets, options, lowered, {}};
  emit_compute(emission);
  emit_transfers(emission);
  emit_gradients(emission);
  return lowered;
}

}  // namespace trainyard
