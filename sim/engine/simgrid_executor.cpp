#include "sim/engine/simgrid_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/engine/simgrid_simulation.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

bool is_sound(const ProcessorLost& loss, const TaskGraph& graph) { return index(loss.processor) < graph.processors.size(); }
bool is_sound(const CapacityChanged& change, const TaskGraph& graph) {
  return index(change.channel) < graph.channels.size() && is_finite(change.capacity) && change.capacity.value >= 0;
}

void require_sound(const EventTrace& events, const TaskGraph& graph) {
  Seconds earlier{};
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    require(is_finite(event.at) && event.at >= earlier, fmt::format("event {} at {} s is out of order", i, event.at.value));
    require(std::visit([&](const auto& what) { return is_sound(what, graph); }, event.what),
            fmt::format("event {} names what does not exist or a capacity that cannot be", i));
    earlier = event.at;
  }
}

void require_no_problems(const TaskGraph& graph) {
  const std::vector<std::string> wrong = problems(graph);
  require(wrong.empty(), fmt::format("a task graph with {} problems, first: {}", wrong.size(), wrong.empty() ? "" : wrong.front()));
}

}  // namespace

void require_runnable(const TaskGraph& graph, const EventTrace& events) {
  require_no_problems(graph);
  const bool carried = std::any_of(graph.edges.begin(), graph.edges.end(), [](const Edge& edge) { return edge.distance > 0; });
  require(!carried, "a task graph with loop-carried edges must be unrolled before it runs");
  require_sound(events, graph);
}

Timeline SimGridExecutor::run(const TaskGraph& graph, const EventTrace& events, Controller& controller) {
  require_runnable(graph, events);
  return SimGridSimulation(graph, 1, events, controller).run();
}

Timeline SimGridExecutor::run_steps(const TaskGraph& graph, int steps, const EventTrace& events, Controller& controller) {
  require(steps >= 1, "a graph runs for at least one step");
  require_no_problems(graph);
  require_sound(events, graph);
  return SimGridSimulation(graph, steps, events, controller).run();
}

}  // namespace trainyard
