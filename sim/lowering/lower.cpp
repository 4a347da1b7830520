#include "sim/lowering/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/cost/expert_seats.hpp"
#include "sim/cost/kernel_time.hpp"
#include "sim/lowering/alone.hpp"
#include "sim/lowering/emission.hpp"
#include "sim/lowering/host_traffic.hpp"

namespace trainyard {
namespace {

void note_extrapolated(const Cluster& cluster, const Module& module, const Software& software, Lowered& lowered) {
  if (std::ranges::all_of(module.types, [](const LayerType& type) { return type.profile.has_value(); })) return;
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

/// The result says what was drawn.
void note_jitter(const Jitter& jitter, Lowered& lowered) {
  if (!jitter.any()) return;
  lowered.extrapolated.push_back(fmt::format("times drawn with a spread of {} in kernels and {} in communication, {}, seed {}",
                                             jitter.kernels, jitter.communication,
                                             jitter.per_device ? "each device on its own" : "once for equal devices", jitter.seed));
}

/// Events on classes that the graph knows; one for all members.
EventTrace events_of(const Cluster& cluster, const Symmetry& symmetry, const Resources& resources, const TaskGraph& graph) {
  EventTrace events;
  for (const ClusterEvent& event : cluster.events) {
    Event made{event.at, ProcessorLost{}};
    if (const auto* change = std::get_if<LinkChange>(&event.what)) {
      const int link_class = symmetry.links.class_of[index(change->link)];
      if (link_class < 0 || symmetry.links.first[link_class] != int(change->link) || resources.channel_of[link_class] < 0) continue;
      const ChannelId channel{resources.channel_of[link_class]};
      made.what = CapacityChanged{channel, graph.channels[index(channel)].capacity * change->factor};
    } else {
      const DeviceId device = std::get<DeviceFailure>(event.what).device;
      const int device_class = symmetry.devices.class_of[index(device)];
      if (device_class < 0 || symmetry.devices.first[device_class] != int(device)) continue;
      made.what = ProcessorLost{ProcessorId{device_class}};
    }
    events.push_back(made);
  }
  return events;
}

}  // namespace

Lowered lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const Router& router, const LoweringOptions& options) {
  const Placement placement = place(plan, workload);
  TrafficMap traffic = traffic_of(placement, router);
  add_host_traffic(cluster, placement, workload, router, traffic);
  const bool alike = !options.jitter.any() || !options.jitter.per_device;
  const Symmetry symmetry = find_symmetry(cluster, placement, traffic, options.symmetry && alike, options.apart);
  const bool groups_differ = options.jitter.any() && alike && !options.symmetry;
  const Symmetry groups = groups_differ ? find_symmetry(cluster, placement, traffic, true, options.apart) : symmetry;
  const JitterDraws jitter(options.jitter, placement, groups);
  Lowered lowered;
  for (std::size_t i = 0; i < cluster.devices.size(); ++i)
    if (symmetry.devices.class_of[i] >= 0) lowered.used.push_back(id_at<DeviceId>(i));
  note_extrapolated(cluster, *placement.module, workload.software, lowered);
  note_jitter(options.jitter, lowered);
  lowered.expert_imbalance = expert_imbalance(placement);
  const bool overlap_pipeline = workload.software.overlap_pipeline || overlaps_transfers(placement.part->schedule) || runs_ahead(placement);
  const Resources resources = make_resources(cluster, placement, traffic, symmetry, overlap_pipeline, options.apart, lowered);
  const std::vector<Bucket> buckets = make_buckets(placement, traffic, workload);
  Emission emission{cluster, workload, placement, traffic, symmetry, resources, buckets, options, jitter, overlap_pipeline, lowered, {}, {}};
  emit_compute(emission);
  emit_transfers(emission);
  emit_moves(emission);
  emit_gradients(emission);
  if (options.alone_communication) make_communication_alone(lowered.graph);
  lowered.events = events_of(cluster, symmetry, resources, lowered.graph);
  return lowered;
}

std::vector<LinkId> links_used(const Plan& plan, const Workload& workload, const Router& router) {
  const Placement placement = place(plan, workload);
  std::set<LinkId> links;
  for (const Communicator& group : traffic_of(placement, router).all)
    for (const auto& use : group.links) links.insert(use.first);
  return {links.begin(), links.end()};
}

}  // namespace trainyard
