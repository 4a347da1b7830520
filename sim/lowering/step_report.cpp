#include "sim/lowering/step_report.hpp"

#include <algorithm>
#include <cmath>

#include "sim/cost/memory.hpp"
#include "sim/cost/price.hpp"
#include "sim/lowering/memory_profile.hpp"
#include "sim/lowering/time_breakdown.hpp"
#include "sim/model/device_rates.hpp"

namespace trainyard {
namespace {

constexpr double kRepeatTolerance = 1e-9;

MemoryReport fullest_device(const Lowered& lowered, const std::vector<MemoryPeak>& peaks, const Cluster& cluster) {
  MemoryReport worst;
  for (std::size_t p = 0; p < lowered.devices.size(); ++p) {
    const SimulatedDevice& device = lowered.devices[p];
    const Bytes reserved = reserved_memory(cluster.type_of(device.first), peaks[p].peak, device.tensor);
    const Bytes peak = peaks[p].peak + reserved, capacity = lowered.graph.processors[p].memory;
    if (p > 0 && peak / capacity <= worst.peak / worst.capacity) continue;
    worst = {lowered.graph.processors[p].name, peak, capacity, peaks[p].at_peak, peaks[p].when};
    worst.at_peak[std::size_t(MemoryClass::reserved)] += reserved;
  }
  return worst;
}

/// Allocated on the fullest device of the last stages.
Bytes last_stage_memory(const Lowered& lowered, const std::vector<MemoryPeak>& peaks) {
  Bytes most{};
  for (std::size_t p = 0; p < lowered.devices.size(); ++p)
    if (lowered.devices[p].last_stage) most = std::max(most, peaks[p].peak);
  return most;
}

/// The host that is fullest; hosts stand behind the devices. Nothing lives on a host: no report.
MemoryReport fullest_host(const Lowered& lowered, const std::vector<MemoryPeak>& peaks) {
  MemoryReport worst;
  for (std::size_t p = lowered.devices.size(); p < peaks.size(); ++p)
    if (peaks[p].peak > worst.peak)
      worst = {lowered.graph.processors[p].name, peaks[p].peak, lowered.graph.processors[p].memory, peaks[p].at_peak, peaks[p].when};
  return worst;
}

/// A host that overflows is named where the devices fit; a capacity of zero is not known.
void report_memory(const Lowered& lowered, const Timeline& timeline, const Cluster& cluster, StepReport& report) {
  const std::vector<MemoryPeak> peaks = memory_peaks(lowered.graph, timeline);
  report.memory = fullest_device(lowered, peaks, cluster);
  report.last_stage_memory = last_stage_memory(lowered, peaks);
  const MemoryReport host = fullest_host(lowered, peaks);
  report.peak_host_memory = host.peak;
  if (report.memory.fits() && host.capacity > Bytes(0) && !host.fits()) report.memory = host;
}

bool equal(Seconds a, Seconds b) { return std::abs(a.value - b.value) <= kRepeatTolerance * a.value; }

FlopsPerSecond peak_of(const Lowered& lowered, const Cluster& cluster, DataType precision) {
  FlopsPerSecond sum{};
  for (const DeviceId device : lowered.used) sum += peak_rate(cluster.type_of(device), precision).value();
  return sum;
}

}  // namespace

std::optional<StepWindow> StepTimes::period() const {
  const std::size_t n = end.size();
  if (n == 1) return StepWindow{Seconds(0), end[0], 1};
  if (n == 2) return equal(end[1] - end[0], start[1] - start[0]) ? std::optional(StepWindow{end[0], end[1], 1}) : std::nullopt;
  const std::optional<int> steps = period_of(start);
  return steps ? std::optional(last(*steps)) : std::nullopt;
}

StepWindow StepTimes::last(int steps) const { return {start[start.size() - 1 - std::size_t(steps)], start.back(), steps}; }

StepTimes step_times(const TaskGraph& step, const Timeline& timeline) {
  const std::size_t step_tasks = step.tasks.size();
  const std::size_t steps = timeline.end.size() / step_tasks;
  StepTimes times{std::vector<Seconds>(steps, timeline.makespan), std::vector<Seconds>(steps, Seconds(0))};
  for (std::size_t i = 0; i < timeline.end.size(); ++i) {
    if (!step.tasks[i % step_tasks].slots.empty())
      times.start[i / step_tasks] = std::min(times.start[i / step_tasks], timeline.start[i]);
    times.end[i / step_tasks] = std::max(times.end[i / step_tasks], timeline.end[i]);
  }
  return times;
}

StepReport report_step(const Lowered& lowered, const Timeline& timeline, const StepWindow& window, const Workload& workload,
                       const Cluster& cluster) {
  StepReport report;
  report.step_time = window.step_time();
  report.first_step_time = step_times(lowered.graph, timeline).end.front();
  report.time = time_breakdown(lowered, timeline, window.from, window.to);
  report.time *= 1 / double(window.steps);
  const Seconds exposed = report.time.tensor + report.time.pipeline + report.time.data + report.time.expert + report.time.context;
  report.bubble_fraction = report.time.bubble / report.step_time;
  report.exposed_communication_fraction = exposed / report.step_time;
  report.model_flops = model_flops_per_step(workload);
  report.hardware_flops = report.model_flops + lowered.recomputed;
  report.flops_known = knows_flops(workload);
  report.peak = peak_of(lowered, cluster, workload.compute_type());
  report.tokens = tokens_per_step(workload);
  report.samples = workload.global_batch;
  report.gpus = std::int64_t(lowered.used.size());
  report_memory(lowered, timeline, cluster, report);
  const Price price = price_of(cluster, lowered.used);
  report.price = price.rate;
  report.price_known = price.known;
  report.simulated_tasks = std::int64_t(timeline.end.size() - (timeline.stopped_early ? lowered.graph.tasks.size() : 0));
  report.device_classes = std::int64_t(lowered.devices.size());
  report.expert_imbalance = lowered.expert_imbalance;
  report.extrapolated = lowered.extrapolated;
  return report;
}

}  // namespace trainyard
