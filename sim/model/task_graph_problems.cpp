// What is wrong with a task graph; everything an executor relies on is checked here and nowhere else.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/model/task_graph.hpp"

namespace trainyard {
namespace {

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

  template <class Id, class T>
  bool known(Id id, const std::vector<T>& all, std::string_view kind, const std::string& where) {
    if (index(id) < all.size()) return true;  // a negative id converts to a huge index
    complain("{}: there is no {} {} (of {})", where, kind, static_cast<int>(id), all.size());
    return false;
  }

  void check_amount(double value, std::string_view what, const std::string& where) {
    if (!(std::isfinite(value) && value >= 0)) complain("{}: {} is {}", where, what, value);
  }

  void check_resources() {
    for (std::size_t i = 0; i < graph_.processors.size(); ++i) {
      const Processor& processor = graph_.processors[i];
      const std::string where = fmt::format("processor {} ({})", i, processor.name);
      check_amount(processor.memory.value, "memory", where);
      if (processor.devices < 1) complain("{}: stands for {} devices", where, processor.devices);
    }
    for (std::size_t i = 0; i < graph_.streams.size(); ++i)
      known(graph_.streams[i].processor, graph_.processors, "processor",
            fmt::format("stream {} ({})", i, graph_.streams[i].name));
    for (std::size_t i = 0; i < graph_.channels.size(); ++i) {
      const double capacity = graph_.channels[i].capacity.value;
      if (!(std::isfinite(capacity) && capacity > 0))
        complain("channel {} ({}): capacity is {}", i, graph_.channels[i].name, capacity);
    }
    for (std::size_t i = 0; i < graph_.paths.size(); ++i) check_path(i);
  }

  void check_path(std::size_t i) {
    const Path& path = graph_.paths[i];
    const std::string where = fmt::format("path {}", i);
    check_amount(path.limit.value, "limit", where);
    check_amount(path.latency.value, "latency", where);
    for (const auto& [channel, multiplicity] : path.channels) {
      known(channel, graph_.channels, "channel", where);
      if (multiplicity < 1) complain("{}: multiplicity of channel {} is {}", where, static_cast<int>(channel), multiplicity);
    }
  }

  void check_task(std::size_t i) {
    const Task& task = graph_.tasks[i];
    const std::string where = describe(graph_, id_at<TaskId>(i));
    check_amount(task.release.value, "release", where);
    check_slots(task, where);
    for (const TaskPhase& phase : task.phases) check_phase(phase, where);
    for (const Memory& memory : task.memory) check_memory(memory, where);
  }

  void check_slots(const Task& task, const std::string& where) {
    std::vector<StreamId> seen;
    for (const Slot& slot : task.slots) {
      known(slot.stream, graph_.streams, "stream", where);
      if (std::find(seen.begin(), seen.end(), slot.stream) != seen.end())
        complain("{}: holds stream {} twice", where, static_cast<int>(slot.stream));
      seen.push_back(slot.stream);
      if (!(slot.compute_share >= 0 && slot.compute_share <= 1))
        complain("{}: compute share on stream {} is {}", where, static_cast<int>(slot.stream), slot.compute_share);
    }
  }

  void check_phase(const TaskPhase& phase, const std::string& where) {
    check_amount(phase.delay.value, "delay", where);
    if (phase.kernel) {
      check_amount(phase.kernel->alone.value, "kernel time", where);
      check_amount(phase.kernel->flops.value, "kernel FLOPs", where);
      check_amount(phase.kernel->bytes.value, "kernel bytes", where);
    }
    for (const Flow& flow : phase.flows) {
      known(flow.path, graph_.paths, "path", where);
      check_amount(flow.bytes.value, "bytes of a flow", where);
      if (flow.bytes.value > kMostBytes) complain("{}: a flow of {} bytes is more than 2^53", where, flow.bytes.value);
    }
  }

  void check_memory(const Memory& memory, const std::string& where) {
    known(memory.processor, graph_.processors, "processor", where);
    const double amounts[] = {memory.at_start.value, memory.at_end.value, memory.peak_inside.value};
    for (double amount : amounts)
      if (!std::isfinite(amount)) complain("{}: memory of class {} is {}", where, name(memory.kind), amount);
  }

  void check_resident(std::size_t i) {
    const std::string where = fmt::format("resident {}", i);
    known(graph_.residents[i].processor, graph_.processors, "processor", where);
    check_amount(graph_.residents[i].bytes.value, "bytes", where);
  }

  void check_edges() {
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
      const Edge& edge = graph_.edges[i];
      const std::string where = fmt::format("edge {}", i);
      const bool from = known(edge.from, graph_.tasks, "task", where);
      const bool to = known(edge.to, graph_.tasks, "task", where);
      edges_valid_ = edges_valid_ && from && to;
      if (edge.distance < 0) complain("{}: distance is {}", where, edge.distance);
    }
  }

  /// Kahn's algorithm over the edges inside one step; what is left holds a cycle.
  void check_cycle() {
    std::vector<int> before(graph_.tasks.size(), 0);
    std::vector<std::vector<std::size_t>> after(graph_.tasks.size());
    for (const Edge& edge : graph_.edges) {
      if (edge.distance != 0) continue;
      ++before[index(edge.to)];
      after[index(edge.from)].push_back(index(edge.to));
    }
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const std::size_t done = ready.back();
      ready.pop_back();
      for (std::size_t next : after[done])
        if (--before[next] == 0) ready.push_back(next);
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
