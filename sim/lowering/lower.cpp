#include "sim/lowering/lower.hpp"

#include <algorithm>

#include "sim/cost/kernel_time.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/host_traffic.hpp"

namespace trainyard {
namespace {

void note_extrapolated(const Cluster& cluster, const Software& software, Lowered& lowered) {
  std::vector<bool> seen(cluster.device_types.size(), false);
  for (const DeviceId device : lowered.used) {
    const DeviceTypeId type = cluster.devices[index(device)].type;
    if (seen[index(type)]) continue;
    seen[index(type)] = true;
    const DeviceType& kind = cluster.device_types[index(type)];
    if (kind.extrapolated) lowered.extrapolated.push_back(kind.name + ": kernel times inherited from another generation");
    if (!has_attention_kernel(kind, software.attention))
      lowered.extrapolated.push_back(kind.name + " has no " + std::string(name(software.attention)) +
                                     ": its attention runs unfused with a fused softmax");
  }
}

/// A stage that runs more than one micro-batch ahead of the next would wait for itself if its sends returned only on arrival.
bool runs_ahead(const Placement& placement) {
  return std::ranges::any_of(placement.routes, [&](const std::vector<Visit>& route) {
    return std::ranges::adjacent_find(route, [&](const Visit& here, const Visit& next) {
             return placement.roles[here.role].in_flight > placement.roles[next.role].in_flight + 1;
           }) != route.end();
  });
}

}  // namespace

Lowered lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const Router& router, const LoweringOptions& options) {
  const Placement placement = place(plan, workload);
  TrafficMap traffic = traffic_of(placement, router);
  add_host_traffic(cluster, placement, workload, router, traffic);
  const Symmetry symmetry = find_symmetry(cluster, placement, traffic, options.symmetry);
  Lowered lowered;
  for (std::size_t i = 0; i < cluster.devices.size(); ++i)
    if (symmetry.devices.class_of[i] >= 0) lowered.used.push_back(id_at<DeviceId>(i));
  note_extrapolated(cluster, workload.software, lowered);
  const bool overlap_pipeline = workload.software.overlap_pipeline || overlaps_transfers(placement.part->schedule) || runs_ahead(placement);
  const Resources resources = make_resources(cluster, placement, traffic, symmetry, overlap_pipeline, lowered);
  const std::vector<Bucket> buckets = make_buckets(placement, traffic, workload);
  Emission emission{cluster, workload, placement, traffic, symmetry, resources, buckets, options, overlap_pipeline, lowered, {}};
  emit_compute(emission);
  emit_transfers(emission);
  emit_gradients(emission);
  return lowered;
}

}  // namespace trainyard
