#include "sim/model/task_graph.hpp"

#include <bit>
#include <string_view>
#include <type_traits>

#include "sim/model/task_graph_fields.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

void append_instance(const TaskGraph& graph, int instance, TaskGraph& all) {
  for (const Task& task : graph.tasks) {
    all.tasks.push_back(task);
    all.tasks.back().label.step += instance * graph.period;
  }
}

void append_edges(const TaskGraph& graph, int instance, int steps, TaskGraph& all) {
  const std::size_t n = graph.tasks.size();
  const auto at = [n](int step, TaskId task) { return id_at<TaskId>(static_cast<std::size_t>(step) * n + index(task)); };
  for (const Edge& edge : graph.edges)
    if (instance + edge.distance < steps)
      all.edges.push_back({at(instance, edge.from), at(instance + edge.distance, edge.to), 0});
}

/// Order-dependent hash of the fields it is given; the mixing step is SplitMix64's (Steele, Lea, Flood, OOPSLA 2014).
class Hasher {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (add(values), ...);
  }
  [[nodiscard]] std::uint64_t result() const { return state_; }

 private:
  void mix(std::uint64_t word) {
    state_ += 0x9e3779b97f4a7c15U + word;
    state_ = (state_ ^ (state_ >> 30U)) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ (state_ >> 27U)) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31U;
  }
  void add(double v) { mix(std::bit_cast<std::uint64_t>(v + 0.0)); }  // -0.0 equals 0.0
  void add(const std::string& text) {
    mix(text.size());
    for (char c : text) mix(static_cast<unsigned char>(c));
  }
  void add(const Processor& p) { (*this)(p.model, p.memory, p.devices, p.interference); }
  template <int A, int B, int C, int D>
  void add(Quantity<A, B, C, D> q) {
    add(q.value);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void add(const std::optional<T>& value) {
    mix(value ? 1 : 0);
    if (value) add(*value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    mix(values.size());
    for (const T& value : values) add(value);
  }
  template <class T>
  void add(const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
      mix(static_cast<std::uint64_t>(value));
    else
      visit_fields(value, *this);
  }

  std::uint64_t state_ = 0;
};

}  // namespace

TaskGraph unroll(const TaskGraph& graph, int steps) {
  require(steps >= 1, "a graph is unrolled for at least one step");
  TaskGraph all;
  all.processors = graph.processors;
  all.streams = graph.streams;
  all.channels = graph.channels;
  all.paths = graph.paths;
  all.residents = graph.residents;
  all.period = graph.period * steps;
  all.tasks.reserve(graph.tasks.size() * static_cast<std::size_t>(steps));
  all.edges.reserve(graph.edges.size() * static_cast<std::size_t>(steps));
  for (int instance = 0; instance < steps; ++instance) {
    append_instance(graph, instance, all);
    append_edges(graph, instance, steps, all);
  }
  return all;
}

std::uint64_t hash(const TaskGraph& graph) {
  Hasher hasher;
  visit_fields(graph, hasher);
  return hasher.result();
}

}  // namespace trainyard
