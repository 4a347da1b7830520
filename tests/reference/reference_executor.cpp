#include "tests/reference/reference_executor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Seconds kNever{std::numeric_limits<double>::quiet_NaN()};
constexpr double kSameInstant = 1e-12;

enum class State { waiting, running, done, lost, dead };

/// Something in flight for a task: passes time until `from`, then does `left` at its rate. Work is bytes, or seconds of a processor.
struct Part {
  std::size_t task = 0;
  double from = 0;
  double left = 0;
  double bound = kInfinity;
  std::map<std::size_t, double> uses;  ///< resource -> how much of it a rate of 1 takes
  bool endless = false;
  double rate = 0;
  double most = kInfinity;             ///< its bound now
  int path = -1;                       ///< of a flow
  std::optional<OperatorClass> kernel{}; ///< of a kernel with a share of its processor
};

class Run {
 public:
  Run(const TaskGraph& graph, const EventTrace& events, Controller& controller)
      : graph_(graph), events_(events), controller_(controller), n_(graph.tasks.size()) {
    find_meetings();
    state_.assign(n_, State::waiting);
    phase_.assign(n_, 0);
    ready_.assign(n_, kInfinity);
    before_.resize(n_);
    for (const Edge& edge : graph.edges) before_[index(edge.to)].push_back(index(edge.from));
    holders_.resize(graph.streams.size());
    for (std::size_t i = 0; i < n_; ++i)
      for (const Slot& slot : graph.tasks[i].slots)
        if (holders_[index(slot.stream)].empty() || holders_[index(slot.stream)].back() != i) holders_[index(slot.stream)].push_back(i);
    line_.start.assign(n_, kNever);
    line_.end.assign(n_, kNever);
    for (const Channel& channel : graph.channels) capacity_.push_back(channel.capacity.value);
    capacity_.resize(graph.channels.size() + graph.processors.size(), 1.0);
  }

  Timeline run() {
    while (settle(), !line_.stopped_early && any_next()) step();
    if (!line_.stopped_early) halt();
    for (State state : state_)
      line_.status.push_back(state == State::done   ? TaskStatus::done
                             : state == State::lost ? TaskStatus::lost
                                                    : TaskStatus::never_started);
    return line_;
  }

 private:
  /// What runs and can never end is lost.
  void halt() {
    for (State& state : state_) {
      if (state != State::done) line_.halt = "halted";
      if (state == State::running) state = State::lost;
    }
  }

  // What an instant does
  void settle() {
    end_tasks();
    apply_events();
    if (line_.stopped_early) return;
    do {
      end_tasks();
      start_tasks();
    } while (!ended_.empty());
  }

  void end_tasks() {
    for (std::size_t task : ended_) {
      state_[task] = State::done;
      line_.end[task] = line_.makespan = Seconds(now_);
    }
    ended_.clear();
  }

  void start_tasks() {
    for (std::size_t i = 0; i < n_; ++i)
      if (state_[i] == State::waiting && ready_[i] == kInfinity && is_ready(i)) ready_[i] = now_;
    for (int best = best_startable(); best >= 0; best = best_startable()) {
      const auto i = static_cast<std::size_t>(best);
      state_[i] = State::running;
      line_.start[i] = Seconds(now_);
      enter_phase(i);
    }
  }

  bool is_ready(std::size_t task) const {
    if (graph_.tasks[task].release.value > now_) return false;
    return std::all_of(before_[task].begin(), before_[task].end(), [&](std::size_t from) { return state_[from] == State::done; });
  }

  int best_startable() const {
    using Key = std::tuple<int, double, int>;
    Key best{std::numeric_limits<int>::max(), 0, -1};
    for (std::size_t i = 0; i < n_; ++i)
      if (state_[i] == State::waiting && ready_[i] < kInfinity && has_streams(i))
        best = std::min(best, Key{-rank(i), ready_[i], static_cast<int>(i)});
    return std::get<2>(best);
  }

  int rank(std::size_t task) const {
    const std::vector<Slot>& slots = graph_.tasks[task].slots;
    const bool ranked = std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
      return graph_.streams[index(slot.stream)].discipline == Discipline::priority;
    });
    return ranked ? graph_.tasks[task].priority : 0;
  }

  bool has_streams(std::size_t task) const {
    for (const Slot& slot : graph_.tasks[task].slots)
      for (const std::size_t other : holders_[index(slot.stream)]) {
        if (other == task) continue;
        const bool in_order = graph_.streams[index(slot.stream)].discipline == Discipline::program_order;
        if (state_[other] == State::running || state_[other] == State::lost) return false;
        if (in_order && other < task && state_[other] != State::done) return false;
      }
    return true;
  }

  // What a task does
  void enter_phase(std::size_t task) {
    const std::vector<TaskPhase>& phases = graph_.tasks[task].phases;
    for (; phase_[task] < phases.size(); ++phase_[task]) {
      const TaskPhase& phase = phases[phase_[task]];
      const double from = now_ + phase.delay.value;
      if (phase.kernel) add_kernel(task, from, phase.kernel->alone.value);
      bool takes_time = phase.delay.value > 0;
      for (const Flow& flow : phase.flows) takes_time = add_flow(task, from, flow) || takes_time;
      if (takes_time && !phase.kernel) add_shares(task, from);
      if (phase.delay.value > 0) parts_.push_back({.task = task, .from = from, .uses = {}});
      if (busy(task)) return;
    }
    ended_.push_back(task);
  }

  std::map<std::size_t, double> demands(std::size_t task) const {
    std::map<std::size_t, double> all;
    for (const Slot& slot : graph_.tasks[task].slots) {
      double& share = all[graph_.channels.size() + index(graph_.streams[index(slot.stream)].processor)];
      share = std::max(share, slot.compute_share);
    }
    std::erase_if(all, [](const auto& demand) { return demand.second <= 0; });
    return all;
  }

  void add_kernel(std::size_t task, double from, double alone) {
    if (alone <= 0) return;
    const std::map<std::size_t, double> all = demands(task);
    if (all.empty()) parts_.push_back({.task = task, .from = from + alone, .uses = {}});
    for (const auto& [processor, share] : all)
      parts_.push_back({.task = task, .from = from, .left = alone * share, .bound = share, .uses = {{processor, 1.0}}, .kernel = graph_.tasks[task].phases[phase_[task]].kernel->kind});
  }

  bool add_flow(std::size_t task, double from, const Flow& flow) {
    const Path& path = graph_.paths[index(flow.path)];
    Part part{.task = task, .from = from + path.latency.value, .left = std::round(flow.bytes.value), .uses = {}, .path = static_cast<int>(flow.path), .kernel = {}};
    if (path.limit.value > 0) part.bound = path.limit.value;
    for (const auto& [channel, multiplicity] : path.channels) part.uses[index(channel)] += multiplicity;
    if (part.bound == kInfinity && part.uses.empty()) part.left = 0;
    if (part.left <= 0 && part.from <= now_) return false;
    parts_.push_back(part);
    return true;
  }

  void add_shares(std::size_t task, double from) {
    for (const auto& [processor, share] : demands(task))
      parts_.push_back({.task = task, .from = from, .left = kInfinity, .bound = share, .uses = {{processor, 1.0}}, .endless = true});
  }

  bool busy(std::size_t task) const {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.task == task && !part.endless; });
  }

  void drop_parts(std::size_t task) {
    std::erase_if(parts_, [&](const Part& part) { return part.task == task; });
  }

  // What happens to them
  void apply_events() {
    const std::size_t first = next_event_;
    if (std::all_of(state_.begin(), state_.end(), [](State state) { return state == State::done; })) return;
    for (; next_event_ < events_.size() && events_[next_event_].at.value <= now_ + kSameInstant; ++next_event_) {
      const Event& event = events_[next_event_];
      if (const auto* change = std::get_if<CapacityChanged>(&event.what)) capacity_[index(change->channel)] = change->capacity.value;
      if (const auto* loss = std::get_if<ProcessorLost>(&event.what)) lose(loss->processor);
    }
    const std::span<const Event> happened(events_.data() + first, next_event_ - first);
    if (happened.empty() || controller_.on_events(Seconds(now_), happened) == AfterEvents::go_on) return;
    line_.stopped_early = true;
    for (State& state : state_)
      if (state == State::running) state = State::lost;
  }

  void lose(ProcessorId processor) {
    for (std::size_t i = 0; i < n_; ++i) {
      const auto there = [&](const Slot& slot) { return graph_.streams[index(slot.stream)].processor == processor; };
      if (std::none_of(graph_.tasks[i].slots.begin(), graph_.tasks[i].slots.end(), there)) continue;
      if (state_[i] == State::waiting) state_[i] = State::dead;
      if (state_[i] != State::running) continue;
      state_[i] = State::lost;
      drop_parts(i);
    }
  }

  // How time passes
  double end_of(const Part& part) const {
    if (part.from > now_) return part.from;
    return part.left <= 0 ? now_ : part.rate > 0 ? now_ + part.left / part.rate : kInfinity;
  }

  double next_date() {
    share();
    double next = next_event_ < events_.size() ? events_[next_event_].at.value : kInfinity;
    for (std::size_t i = 0; i < n_; ++i)
      if (state_[i] == State::waiting && graph_.tasks[i].release.value > now_) next = std::min(next, graph_.tasks[i].release.value);
    for (const Part& part : parts_) next = std::min(next, end_of(part));
    return next;
  }

  bool any_next() {
    const bool all_done = std::all_of(state_.begin(), state_.end(), [](State state) { return state == State::done; });
    return !all_done && next_date() < kInfinity;
  }

  void step() {
    const double next = next_date();
    std::vector<std::size_t> touched;
    for (Part& part : parts_) {
      const bool over = !part.endless && end_of(part) <= next + kSameInstant;
      if (part.from <= now_) part.left = over ? 0 : part.left - part.rate * (next - now_);
      if (part.from <= next + kSameInstant) part.from = std::min(part.from, next);
      if (part.left <= 0 && part.from <= next) touched.push_back(part.task);
    }
    now_ = next;
    std::erase_if(parts_, [&](const Part& part) { return part.left <= 0 && part.from <= now_; });
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (std::size_t task : touched) {
      if (busy(task)) continue;
      drop_parts(task);
      ++phase_[task];
      enter_phase(task);
    }
  }

  /// What a kernel leaves to flows on a path that tasks with a slot on its processor use.
  double left_beside(const Part& kernel, int path) const {
    const std::size_t processor = kernel.uses.begin()->first - graph_.channels.size();
    const std::vector<Interference>& classes = graph_.processors[processor].interference;
    const auto found = std::find_if(classes.begin(), classes.end(), [&](const Interference& one) { return one.kind == *kernel.kernel; });
    if (found == classes.end()) return 1;
    return meet_.contains({processor, path}) ? found->flows_keep : 1;
  }

  void find_meetings() {
    for (const Processor& processor : graph_.processors) kernels_slow_flows_ = kernels_slow_flows_ || !processor.interference.empty();
    if (!kernels_slow_flows_) return;
    for (const Task& task : graph_.tasks)
      for (const Slot& slot : task.slots)
        for (const TaskPhase& phase : task.phases)
          for (const Flow& flow : phase.flows) meet_.emplace(index(graph_.streams[index(slot.stream)].processor), static_cast<int>(flow.path));
  }

  double bound_of(const Part& part) const {
    if (part.path < 0 || !kernels_slow_flows_) return part.bound;
    double factor = 1;
    for (const Part& kernel : parts_)
      if (kernel.kernel && kernel.from <= now_ && kernel.left > 0) factor = std::min(factor, left_beside(kernel, part.path));
    return part.bound * factor;
  }

  /// Max-min by filling: all rates grow together; who meets its bound or a full resource stays there.
  void share() {
    std::vector<Part*> growing;
    for (Part& part : parts_)
      if (part.from <= now_ && part.left > 0) growing.push_back(&part);
    for (Part* part : growing) part->most = bound_of(*part);
    std::vector<double> left = capacity_;
    while (!growing.empty()) {
      std::vector<double> weight(left.size(), 0);
      for (const Part* part : growing)
        for (const auto& [resource, use] : part->uses) weight[resource] += use;
      const auto level_of = [&](const Part& part) {
        double level = part.most;
        for (const auto& [resource, use] : part.uses) level = std::min(level, left[resource] / weight[resource]);
        return level;
      };
      double level = kInfinity;
      for (const Part* part : growing) level = std::min(level, level_of(*part));
      const auto full = std::stable_partition(growing.begin(), growing.end(),
                                              [&](const Part* part) { return level_of(*part) > level * (1 + 1e-14); });
      for (auto part = full; part != growing.end(); ++part) {
        (*part)->rate = level;
        for (const auto& [resource, use] : (*part)->uses) left[resource] = std::max(0.0, left[resource] - use * level);
      }
      growing.erase(full, growing.end());
    }
  }

  const TaskGraph& graph_;
  const EventTrace& events_;
  Controller& controller_;
  std::size_t n_;
  std::vector<std::vector<std::size_t>> before_;   ///< [task]: what must be done first
  std::vector<std::vector<std::size_t>> holders_;  ///< [stream]: tasks with a slot on it, in order of the graph
  std::vector<State> state_;
  std::vector<std::size_t> phase_;
  std::vector<double> ready_;
  std::vector<double> capacity_;  ///< channels, then processors
  std::vector<Part> parts_;
  std::vector<std::size_t> ended_;
  bool kernels_slow_flows_ = false;
  std::set<std::pair<std::size_t, int>> meet_;  ///< processor and path of a task
  std::size_t next_event_ = 0;
  double now_ = 0;
  Timeline line_;
};

}  // namespace

Timeline ReferenceExecutor::run(const TaskGraph& graph, const EventTrace& events, Controller& controller) {
  const std::vector<std::string> wrong = problems(graph);
  require(wrong.empty(), wrong.empty() ? "" : wrong.front());
  return Run(graph, events, controller).run();
}

}  // namespace trainyard
