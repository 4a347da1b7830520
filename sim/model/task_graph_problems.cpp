// What is wrong with a task graph; everything an executor relies on is checked here and nowhere else.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/model/task_graph.hpp"

namespace trainyard {
namespace {

/// What a complaint is about; it becomes text only if there is one.
struct Place {
  enum Kind { processor, stream, path, task, resident, edge } kind;
  std::size_t position;
};

class Checker {
 public:
  explicit Checker(const TaskGraph& graph) : graph_(graph) {}

  std::vector<std::string> run() {
    check_resources();
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) check_task(i);
    check_edges();
    for (std::size_t i = 0; i < graph_.residents.size(); ++i) check_resident(i);
    if (graph_.period < 1) complain("the period is {}, not at least 1", graph_.period);
    if (edges_valid_) check_cycle();
    return std::move(found_);
  }

 private:
  template <class... T>
  void complain(fmt::format_string<T...> format, T&&... values) {
    found_.push_back(fmt::format(format, std::forward<T>(values)...));
  }

  template <class... T>
  void complain_at(Place where, fmt::format_string<T...> format, T&&... values) {
    found_.push_back(text(where) + ": " + fmt::format(format, std::forward<T>(values)...));
  }

  [[nodiscard]] std::string text(Place where) const {
    const std::size_t i = where.position;
    switch (where.kind) {
      case Place::processor: return fmt::format("processor {} ({})", i, graph_.processors[i].name);
      case Place::stream: return fmt::format("stream {} ({})", i, graph_.streams[i].name);
      case Place::path: return fmt::format("path {}", i);
      case Place::task: return describe(graph_, id_at<TaskId>(i));
      case Place::resident: return fmt::format("resident {}", i);
      case Place::edge: return fmt::format("edge {}", i);
    }
    return "";
  }

  template <class Id, class T>
  bool known(Id id, const std::vector<T>& all, std::string_view kind, Place where) {
    if (index(id) < all.size()) return true;  // a negative id converts to a huge index
    complain_at(where, "there is no {} {} (of {})", kind, static_cast<int>(id), all.size());
    return false;
  }

  void check_amount(double value, std::string_view what, Place where) {
    if (!(std::isfinite(value) && value >= 0)) complain_at(where, "{} is {}", what, value);
  }

  void check_resources() {
    for (std::size_t i = 0; i < graph_.processors.size(); ++i) {
      const Processor& processor = graph_.processors[i];
      const Place where{Place::processor, i};
      check_amount(processor.memory.value, "memory", where);
      if (processor.devices < 1) complain_at(where, "stands for {} devices", processor.devices);
      for (const Interference& beside : processor.interference)
        if (!(beside.flows_keep > 0 && beside.flows_keep <= 1))
          complain_at(where, "{} kernels leave {} to flows", name(beside.kind), beside.flows_keep);
    }
    for (std::size_t i = 0; i < graph_.streams.size(); ++i)
      known(graph_.streams[i].processor, graph_.processors, "processor", {Place::stream, i});
    for (std::size_t i = 0; i < graph_.channels.size(); ++i) {
      const double capacity = graph_.channels[i].capacity.value;
      if (!(std::isfinite(capacity) && capacity > 0))
        complain("channel {} ({}): capacity is {}", i, graph_.channels[i].name, capacity);
    }
    for (std::size_t i = 0; i < graph_.paths.size(); ++i) check_path(i);
  }

  void check_path(std::size_t i) {
    const Path& path = graph_.paths[i];
    const Place where{Place::path, i};
    check_amount(path.limit.value, "limit", where);
    check_amount(path.latency.value, "latency", where);
    for (const auto& [channel, multiplicity] : path.channels) {
      known(channel, graph_.channels, "channel", where);
      if (multiplicity < 1) complain_at(where, "multiplicity of channel {} is {}", static_cast<int>(channel), multiplicity);
    }
  }

  void check_task(std::size_t i) {
    const Task& task = graph_.tasks[i];
    const Place where{Place::task, i};
    check_amount(task.release.value, "release", where);
    check_slots(task, where);
    for (const TaskPhase& phase : task.phases) check_phase(phase, where);
    for (const Memory& memory : task.memory) check_memory(memory, where);
  }

  void check_slots(const Task& task, Place where) {
    for (auto at = task.slots.begin(); at != task.slots.end(); ++at) {
      const Slot& slot = *at;
      known(slot.stream, graph_.streams, "stream", where);
      if (std::any_of(task.slots.begin(), at, [&](const Slot& other) { return other.stream == slot.stream; }))
        complain_at(where, "holds stream {} twice", static_cast<int>(slot.stream));
      if (!(slot.compute_share >= 0 && slot.compute_share <= 1))
        complain_at(where, "compute share on stream {} is {}", static_cast<int>(slot.stream), slot.compute_share);
    }
  }

  void check_phase(const TaskPhase& phase, Place where) {
    check_amount(phase.delay.value, "delay", where);
    if (phase.kernel) {
      check_amount(phase.kernel->alone.value, "kernel time", where);
      check_amount(phase.kernel->flops.value, "kernel FLOPs", where);
      check_amount(phase.kernel->bytes.value, "kernel bytes", where);
    }
    for (const Flow& flow : phase.flows) {
      known(flow.path, graph_.paths, "path", where);
      check_amount(flow.bytes.value, "bytes of a flow", where);
      if (flow.bytes.value > kMostBytes) complain_at(where, "a flow of {} bytes is more than 2^53", flow.bytes.value);
    }
  }

  void check_memory(const Memory& memory, Place where) {
    known(memory.processor, graph_.processors, "processor", where);
    const double amounts[] = {memory.at_start.value, memory.at_end.value, memory.peak_inside.value};
    for (double amount : amounts)
      if (!std::isfinite(amount)) complain_at(where, "memory of class {} is {}", name(memory.kind), amount);
  }

  void check_resident(std::size_t i) {
    const Place where{Place::resident, i};
    known(graph_.residents[i].processor, graph_.processors, "processor", where);
    check_amount(graph_.residents[i].bytes.value, "bytes", where);
  }

  void check_edges() {
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
      const Edge& edge = graph_.edges[i];
      const Place where{Place::edge, i};
      const bool from = known(edge.from, graph_.tasks, "task", where);
      const bool to = known(edge.to, graph_.tasks, "task", where);
      edges_valid_ = edges_valid_ && from && to;
      if (edge.distance < 0) complain_at(where, "distance is {}", edge.distance);
    }
  }

  /// Kahn's algorithm over the edges inside one step; what is left holds a cycle.
  void check_cycle() {
    std::vector<int> before(graph_.tasks.size(), 0);
    std::vector<std::pair<std::size_t, std::size_t>> arrows;  // from, to
    arrows.reserve(graph_.edges.size());
    for (const Edge& edge : graph_.edges) {
      if (edge.distance != 0) continue;
      ++before[index(edge.to)];
      arrows.emplace_back(index(edge.from), index(edge.to));
    }
    std::sort(arrows.begin(), arrows.end());
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const std::size_t done = ready.back();
      ready.pop_back();
      auto arrow = std::lower_bound(arrows.begin(), arrows.end(), std::pair(done, std::size_t{0}));
      for (; arrow != arrows.end() && arrow->first == done; ++arrow)
        if (--before[arrow->second] == 0) ready.push_back(arrow->second);
    }
    const auto left = std::find_if(before.begin(), before.end(), [](int n) { return n > 0; });
    if (left != before.end()) name_cycle(static_cast<std::size_t>(left - before.begin()), before);
  }

  /// From a task that was never ready, its first predecessor of the same kind and so on, until one repeats.
  void name_cycle(std::size_t at, const std::vector<int>& before) {
    std::vector<int> blocker(graph_.tasks.size(), -1);
    for (const Edge& edge : graph_.edges)
      if (edge.distance == 0 && before[index(edge.from)] > 0 && blocker[index(edge.to)] < 0)
        blocker[index(edge.to)] = static_cast<int>(edge.from);
    std::vector<std::size_t> walk;
    std::vector<char> visited(graph_.tasks.size(), 0);
    for (; !visited[at]; at = static_cast<std::size_t>(blocker[at])) {
      visited[at] = 1;
      walk.push_back(at);
    }
    walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
    std::string text = "a cycle: " + describe(graph_, id_at<TaskId>(at));
    for (std::size_t waits_for : walk)
      if (waits_for != at) text += " waits for " + describe(graph_, id_at<TaskId>(waits_for));
    complain("{} waits for {}", text, describe(graph_, id_at<TaskId>(at)));
  }

  static constexpr double kMostBytes = 9007199254740992.0;  // every whole number up to here is a double

  const TaskGraph& graph_;
  std::vector<std::string> found_;
  bool edges_valid_ = true;
};

}  // namespace

std::vector<std::string> problems(const TaskGraph& graph) { return Checker(graph).run(); }

}  // namespace trainyard
