#include "sim/lowering/step_report.hpp"

#include <algorithm>
#include <cmath>

#include "sim/cost/memory.hpp"
#include "sim/cost/price.hpp"
#include "sim/lowering/memory_profile.hpp"
#include "sim/lowering/time_breakdown.hpp"

namespace trainyard {
namespace {

constexpr double kRepeatTolerance = 1e-9;

MemoryReport fullest(const Lowered& lowered, const TaskGraph& unrolled, const Timeline& timeline, const Cluster& cluster) {
  const std::vector<MemoryPeak> peaks = memory_peaks(unrolled, timeline);
  MemoryReport worst;
  for (std::size_t p = 0; p < peaks.size(); ++p) {
    const SimulatedDevice& device = lowered.devices[p];
    const Bytes reserved = reserved_memory(cluster.type_of(device.first), peaks[p].peak, device.tensor);
    const Bytes peak = peaks[p].peak + reserved, capacity = unrolled.processors[p].memory;
    if (p > 0 && peak / capacity <= worst.peak / worst.capacity) continue;
    worst = {unrolled.processors[p].name, peak, capacity, peaks[p].at_peak, peaks[p].when};
    worst.at_peak[std::size_t(MemoryClass::reserved)] += reserved;
  }
  return worst;
}

FlopsPerSecond peak_of(const Lowered& lowered, const Cluster& cluster, DataType precision) {
  FlopsPerSecond sum{};
  for (const DeviceId device : lowered.used) sum += cluster.type_of(device).peak.at(precision);
  return sum;
}

}  // namespace

bool StepEnds::repeats() const {
  if (end.size() < 2) return false;
  const Seconds last = length(end.size() - 1), before = length(end.size() - 2);
  return std::abs(last.value - before.value) <= kRepeatTolerance * last.value;
}

StepEnds step_ends(const Timeline& timeline, std::size_t step_tasks) {
  StepEnds ends;
  ends.end.assign(timeline.end.size() / step_tasks, Seconds(0));
  for (std::size_t i = 0; i < timeline.end.size(); ++i) ends.end[i / step_tasks] = std::max(ends.end[i / step_tasks], timeline.end[i]);
  return ends;
}

StepReport report_step(const Lowered& lowered, const TaskGraph& unrolled, const Timeline& timeline, int window,
                       const Workload& workload, const Cluster& cluster) {
  const StepEnds ends = step_ends(timeline, lowered.graph.tasks.size());
  const std::size_t steps = ends.end.size();
  const Seconds from = steps > std::size_t(window) ? ends.end[steps - window - 1] : Seconds(0), to = ends.end.back();
  StepReport report;
  report.step_time = (to - from) / double(window);
  report.first_step_time = ends.end.front();
  report.time = time_breakdown(lowered, unrolled, timeline, from, to);
  report.time *= 1 / double(window);
  const Seconds exposed = report.time.tensor + report.time.pipeline + report.time.data + report.time.expert + report.time.context;
  report.bubble_fraction = report.time.bubble / report.step_time;
  report.exposed_communication_fraction = exposed / report.step_time;
  report.model_flops = model_flops_per_step(workload);
  report.hardware_flops = report.model_flops + lowered.recomputed;
  report.peak = peak_of(lowered, cluster, workload.precision);
  report.tokens = tokens_per_step(workload);
  report.samples = workload.global_batch;
  report.gpus = std::int64_t(lowered.used.size());
  report.memory = fullest(lowered, unrolled, timeline, cluster);
  const Price price = price_of(cluster, lowered.used);
  report.price = price.rate;
  report.price_known = price.known;
  report.simulated_tasks = std::int64_t(unrolled.tasks.size());
  report.device_classes = std::int64_t(lowered.devices.size());
  report.extrapolated = lowered.extrapolated;
  return report;
}

}  // namespace trainyard
