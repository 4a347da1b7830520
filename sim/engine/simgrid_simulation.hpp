// One run of a task graph on SimGrid.
#pragma once

#include <exception>
#include <simgrid/kernel/Timer.hpp>
#include <span>
#include <vector>

#include "sim/engine/interference_map.hpp"
#include "sim/engine/simgrid_activities.hpp"
#include "sim/engine/simgrid_platform.hpp"
#include "sim/engine/task_queue.hpp"
#include "sim/model/controller.hpp"
#include "sim/model/event_trace.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

/// One run. SimGrid calls back into it; no exception may leave a callback, so the first is kept and thrown after the run.
class SimGridSimulation {
 public:
  SimGridSimulation(const TaskGraph& graph, int steps, const EventTrace& events, Controller& controller);
  Timeline run();

 private:
  struct Demand {
    ProcessorId processor;
    double share;
  };

  [[nodiscard]] std::size_t in_step(int task) const { return static_cast<std::size_t>(task) % graph_.tasks.size(); }
  void find_demands();
  void find_shared_processors();
  [[nodiscard]] std::span<const Demand> demands(int task) const {
    const std::size_t i = in_step(task);
    return {demands_.data() + demand_begin_[i], demands_.data() + demand_begin_[i + 1]};
  }

  // Instants
  template <class F>
  void guarded(F&& action) noexcept;
  template <class F>
  void at(double date, F action);
  void set_timers();
  void completed(const simgrid::s4u::Activity& activity);
  void wake();
  void drain();
  void end_tasks();
  void start_tasks();

  // Tasks
  void enter_phase(int task);
  void begin_phase(int task);
  void start_work(int task, Seconds delay);
  void start_kernel(int task, Seconds alone);
  void start_flow(int task, const Flow& flow, Seconds delay);
  void start_exec(int task, const Demand& demand, Seconds alone, bool endless);
  void slow_flows(const ActivityPool::Entry& kernel, bool begins);
  void take_shares(int task);
  [[nodiscard]] bool takes_shares(int task) const;
  void wait(int task, Seconds time);
  void part_ended(int task);
  void next_phase(int task);
  void let_go(int task);

  // Events
  void apply_events();
  void apply(const ProcessorLost& loss);
  void apply(const CapacityChanged& change);
  void lose(int task);
  void stop();
  void find_stalls();
  void clean_up();

  [[nodiscard]] static double now() { return simgrid::s4u::Engine::get_clock(); }
  [[nodiscard]] bool runs(int task) const {
    return !timeline_.stopped_early && queue_.status(task) == TaskStatus::never_started;
  }
  [[nodiscard]] const Task& task_of(int task) const { return graph_.tasks[in_step(task)]; }
  [[nodiscard]] const TaskPhase& phase_of(int task) const { return task_of(task).phases[phase_[static_cast<std::size_t>(task)]]; }

  const TaskGraph& graph_;
  const EventTrace& events_;
  Controller& controller_;
  InterferenceMap interference_;
  SimGridPlatform platform_;
  ActivityPool activities_;
  TaskQueue queue_;
  Timeline timeline_;

  std::vector<Demand> demands_;              ///< where and how much a task computes, largest share per processor
  std::vector<std::size_t> demand_begin_;    ///< [task of a step]
  std::vector<char> has_kernels_;            ///< [processor]
  std::vector<char> shared_;                 ///< [processor] two tasks may compute at once, or events may touch it
  std::vector<std::size_t> phase_;           ///< [task] the one it is in
  std::vector<int> open_parts_;              ///< [task] kernels, flows and delays of that phase in flight
  std::vector<int> ended_, started_;         ///< of this instant
  std::vector<ProcessorId> to_turn_off_;
  std::vector<double> dead_since_;           ///< [channel]; NaN: it has capacity
  std::size_t next_event_ = 0;
  bool batch_ = false;                       ///< collect all ends of an instant before anything starts
  bool woken_ = false, in_timer_ = false, draining_ = false, cleaning_ = false;
  simgrid::s4u::ExecPtr signal_;             ///< of wake()
  std::exception_ptr failure_;
};

template <class F>
void SimGridSimulation::guarded(F&& action) noexcept {
  if (failure_) return;
  try {
    action();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

template <class F>
void SimGridSimulation::at(double date, F action) {
  simgrid::kernel::timer::Timer::set(date, [this, action] {
    in_timer_ = true;
    guarded(action);
    in_timer_ = false;
  });
}

}  // namespace trainyard
