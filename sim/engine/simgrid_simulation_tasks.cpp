// The phases of a task as SimGrid activities, and what events do to them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/engine/simgrid_simulation.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;

constexpr Seconds kEndless{1e18};

}  // namespace

void SimGridSimulation::find_demands() {
  demand_begin_.push_back(0);
  for (const Task& task : graph_.tasks) {
    const auto begin = static_cast<std::ptrdiff_t>(demand_begin_.back());
    for (const Slot& slot : task.slots) {
      if (slot.compute_share <= 0) continue;
      const ProcessorId processor = graph_.streams[index(slot.stream)].processor;
      const auto same = std::find_if(demands_.begin() + begin, demands_.end(),
                                     [&](const Demand& demand) { return demand.processor == processor; });
      if (same == demands_.end())
        demands_.push_back({processor, slot.compute_share});
      else
        same->share = std::max(same->share, slot.compute_share);
    }
    demand_begin_.push_back(demands_.size());
    if (std::none_of(task.phases.begin(), task.phases.end(), [](const TaskPhase& phase) { return phase.kernel.has_value(); }))
      continue;
    for (auto demand = demands_.begin() + begin; demand != demands_.end(); ++demand) has_kernels_[index(demand->processor)] = 1;
  }
}

/// A processor whose computing tasks all hold one and the same stream, with all of its compute, runs one at a time: each then
/// lasts just as long as it takes alone, and needs no activity that SimGrid shares out, unless it slows flows.
void SimGridSimulation::find_shared_processors() {
  if (!events_.empty()) return shared_.assign(shared_.size(), 1);
  for (std::size_t p = 0; p < shared_.size(); ++p) shared_[p] = graph_.processors[p].interference.empty() ? 0 : 1;
  std::vector<int> stream_of(shared_.size(), -1);
  for (const Task& task : graph_.tasks)
    for (const Slot& slot : task.slots) {
      if (slot.compute_share <= 0) continue;
      const std::size_t processor = index(graph_.streams[index(slot.stream)].processor);
      const int stream = static_cast<int>(slot.stream);
      if (stream_of[processor] < 0) stream_of[processor] = stream;
      if (slot.compute_share < 1 || stream_of[processor] != stream) shared_[processor] = 1;
    }
}

/// Goes on from the current phase until one takes time, or the task ends.
void SimGridSimulation::enter_phase(int task) {
  const auto i = static_cast<std::size_t>(task);
  for (; phase_[i] < task_of(task).phases.size(); ++phase_[i]) {
    begin_phase(task);
    if (open_parts_[i] > 0) return;
  }
  ended_.push_back(task);
  wake();
}

void SimGridSimulation::begin_phase(int task) {
  const TaskPhase& phase = phase_of(task);
  const bool delay_is_latency = !phase.kernel && !phase.flows.empty() && !takes_shares(task);
  if (phase.delay.value <= 0 || delay_is_latency) return start_work(task, phase.delay);
  ++open_parts_[static_cast<std::size_t>(task)];
  at(now() + phase.delay.value, [this, task] {
    if (!runs(task)) return;
    start_work(task, Seconds(0));
    part_ended(task);
  });
}

/// `delay` passes before the latency of the flows.
void SimGridSimulation::start_work(int task, Seconds delay) {
  const TaskPhase& phase = phase_of(task);
  const int before = open_parts_[static_cast<std::size_t>(task)];
  if (phase.kernel) start_kernel(task, phase.kernel->alone);
  for (const Flow& flow : phase.flows) start_flow(task, flow, delay);
  if (!phase.kernel && open_parts_[static_cast<std::size_t>(task)] > before) take_shares(task);
}

void SimGridSimulation::start_kernel(int task, Seconds alone) {
  if (alone.value <= 0) return;
  const std::span<const Demand> all = demands(task);
  if (std::none_of(all.begin(), all.end(), [&](const Demand& demand) { return shared_[index(demand.processor)] != 0; })) return wait(task, alone);
  for (const Demand& demand : demands(task)) start_exec(task, demand, alone, false);
}

void SimGridSimulation::start_exec(int task, const Demand& demand, Seconds alone, bool endless) {
  const sg::ExecPtr exec = platform_.kernel(demand.processor, alone, demand.share);
  ActivityPool::Entry& entry = activities_.add(exec, task, endless);
  if (!endless && interference_.slows(demand.processor, phase_of(task).kernel->kind)) {
    entry.processor = static_cast<int>(demand.processor);
    slow_flows(entry, true);
  }
  if (!endless) ++open_parts_[static_cast<std::size_t>(task)];
  exec->vetoable_start();
}

/// A kernel that begins or ends may change what is left to the flows beside it.
void SimGridSimulation::slow_flows(const ActivityPool::Entry& kernel, bool begins) {
  if (kernel.processor < 0) return;
  const ProcessorId processor{kernel.processor};
  interference_.count(processor, phase_of(kernel.task).kernel->kind, begins);
  for (const int path : interference_.paths_of(processor))
    platform_.set_limit_factor(PathId{path}, interference_.factor(PathId{path}));
}

void SimGridSimulation::start_flow(int task, const Flow& flow, Seconds delay) {
  const Path& path = graph_.paths[index(flow.path)];
  const auto bytes = static_cast<std::uint64_t>(std::llround(flow.bytes.value));
  const Seconds latency = delay + path.latency;
  if (bytes == 0 || !platform_.has_route(flow.path)) {
    const bool limited = bytes > 0 && path.limit.value > 0;
    return wait(task, limited ? latency + Bytes(static_cast<double>(bytes)) / path.limit : latency);
  }
  const sg::CommPtr comm = sg::Comm::sendto_init();
  activities_.add(comm, task, false);
  ++open_parts_[static_cast<std::size_t>(task)];
  platform_.start_flow(comm, flow.path, bytes, latency);
}

bool SimGridSimulation::takes_shares(int task) const {
  const std::span<const Demand> all = demands(task);
  return std::any_of(all.begin(), all.end(), [&](const Demand& demand) { return has_kernels_[index(demand.processor)] != 0; });
}

void SimGridSimulation::take_shares(int task) {
  for (const Demand& demand : demands(task))
    if (has_kernels_[index(demand.processor)]) start_exec(task, demand, kEndless, true);
}

void SimGridSimulation::wait(int task, Seconds time) {
  if (time.value <= 0) return;
  ++open_parts_[static_cast<std::size_t>(task)];
  at(now() + time.value, [this, task] {
    if (runs(task)) part_ended(task);
  });
}

void SimGridSimulation::part_ended(int task) {
  if (--open_parts_[static_cast<std::size_t>(task)] == 0) next_phase(task);
}

void SimGridSimulation::next_phase(int task) {
  let_go(task);
  ++phase_[static_cast<std::size_t>(task)];
  enter_phase(task);
}

void SimGridSimulation::let_go(int task) {
  activities_.free_retired(now());
  activities_.let_go(task);
  if (cleaning_ || !activities_.has_cancellations()) return;
  cleaning_ = true;
  at(now(), [this] { clean_up(); });
}

/// All events of this instant, then the controller.
void SimGridSimulation::apply_events() {
  const std::size_t first = next_event_;
  if (queue_.all_done()) return;
  for (; next_event_ < events_.size() && events_[next_event_].at.value <= now(); ++next_event_)
    std::visit([this](const auto& what) { apply(what); }, events_[next_event_].what);
  if (next_event_ == first) return;
  const std::span<const Event> happened(events_.data() + first, next_event_ - first);
  if (controller_.on_events(Seconds(now()), happened) == AfterEvents::stop) stop();
}

void SimGridSimulation::apply(const ProcessorLost& loss) {
  for (int task : queue_.lose_processor(loss.processor, now())) lose(task);
  to_turn_off_.push_back(loss.processor);
  if (!cleaning_) at(now(), [this] { clean_up(); });
  cleaning_ = true;
}

void SimGridSimulation::apply(const CapacityChanged& change) {
  platform_.set_capacity(change.channel, change.capacity);
  if (dead_since_.empty()) return;
  double& since = dead_since_[index(change.channel)];
  if (change.capacity.value > 0)
    since = std::numeric_limits<double>::quiet_NaN();
  else if (std::isnan(since))
    since = now();
}

void SimGridSimulation::lose(int task) {
  queue_.lose(task);
  activities_.for_each_live(task, [this](const ActivityPool::Entry& entry) { slow_flows(entry, false); });
  let_go(task);
}

void SimGridSimulation::stop() {
  for (std::size_t i = 0; i < queue_.tasks(); ++i)
    if (timeline_.start[i].value >= 0 && runs(static_cast<int>(i))) lose(static_cast<int>(i));
  timeline_.stopped_early = true;
}

/// At the end of all time: tasks whose flows wait for a dead link.
void SimGridSimulation::find_stalls() {
  if (dead_since_.empty()) return;
  for (std::size_t i = 0; i < queue_.tasks(); ++i) {
    const int task = static_cast<int>(i);
    if (!(timeline_.start[i].value >= 0) || queue_.status(task) != TaskStatus::never_started) continue;
    for (const Flow& flow : phase_of(task).flows)
      for (const auto& [channel, multiplicity] : graph_.paths[index(flow.path)].channels)
        if (!std::isnan(dead_since_[index(channel)]) && queue_.status(task) != TaskStatus::lost)
          queue_.stall(task, channel, dead_since_[index(channel)]);
  }
}

void SimGridSimulation::clean_up() {
  cleaning_ = false;
  activities_.cancel(now());
  for (ProcessorId processor : to_turn_off_) platform_.host(processor)->turn_off();
  to_turn_off_.clear();
}

}  // namespace trainyard
