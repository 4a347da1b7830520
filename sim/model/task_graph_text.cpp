// A task graph for people: what a task is called, and a line for each.
#include <fmt/format.h>

#include <iterator>

#include "sim/model/task_graph.hpp"

namespace trainyard {
namespace {

using Out = std::back_insert_iterator<std::string>;

void append_label(const TaskLabel& label, Out out) {
  fmt::format_to(out, "{}", name(label.kind));
  if (label.pipeline >= 0) fmt::format_to(out, " pipeline {}", label.pipeline);
  if (label.stage >= 0) fmt::format_to(out, " stage {}", label.stage);
  if (label.micro_batch >= 0) fmt::format_to(out, " micro-batch {}", label.micro_batch);
  if (label.chunk >= 0) fmt::format_to(out, " chunk {}", label.chunk);
  if (label.layer >= 0) fmt::format_to(out, " layer {}", label.layer);
  if (label.step > 0) fmt::format_to(out, " step {}", label.step);
  if (!label.detail.empty()) fmt::format_to(out, " {}", label.detail);
}

void append_slots(const TaskGraph& graph, const Task& task, Out out) {
  const char* separator = " on ";
  for (const Slot& slot : task.slots) {
    const Stream& stream = graph.streams.at(index(slot.stream));
    fmt::format_to(out, "{}{}.{}", separator, graph.processors.at(index(stream.processor)).name, stream.name);
    if (slot.compute_share > 0) fmt::format_to(out, "[{}]", slot.compute_share);
    separator = ", ";
  }
}

void append_phase(const TaskPhase& phase, Out out) {
  const char* separator = ": ";
  if (phase.delay.value > 0) {
    fmt::format_to(out, "{}delay {:.6g} s", separator, phase.delay.value);
    separator = ", ";
  }
  if (phase.kernel) {
    fmt::format_to(out, "{}{} {:.6g} s", separator, name(phase.kernel->kind), phase.kernel->alone.value);
    separator = ", ";
  }
  for (const Flow& flow : phase.flows) {
    fmt::format_to(out, "{}{:.0f} B over path {}", separator, flow.bytes.value, index(flow.path));
    separator = ", ";
  }
}

void append_memory(const TaskGraph& graph, const Memory& memory, Out out) {
  fmt::format_to(out, "; {} on {} {:+.0f} B at start, {:+.0f} B at end, peak {:.0f} B", name(memory.kind),
                 graph.processors.at(index(memory.processor)).name, memory.at_start.value, memory.at_end.value,
                 memory.peak_inside.value);
}

std::vector<std::vector<Edge>> edges_into(const TaskGraph& graph) {
  std::vector<std::vector<Edge>> into(graph.tasks.size());
  for (const Edge& edge : graph.edges) into.at(index(edge.to)).push_back(edge);
  return into;
}

void append_predecessors(const std::vector<Edge>& edges, Out out) {
  const char* separator = " after ";
  for (const Edge& edge : edges) {
    fmt::format_to(out, "{}{}", separator, index(edge.from));
    if (edge.distance > 0) fmt::format_to(out, " of {} back", edge.distance);
    separator = ", ";
  }
}

}  // namespace

std::string describe(const TaskGraph& graph, TaskId id) {
  std::string text = fmt::format("task {} (", index(id));
  append_label(graph.tasks.at(index(id)).label, std::back_inserter(text));
  text += ')';
  return text;
}

std::string to_text(const TaskGraph& graph) {
  const std::vector<std::vector<Edge>> into = edges_into(graph);
  std::string text;
  const Out out = std::back_inserter(text);
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    fmt::format_to(out, "{} ", i);
    append_label(task.label, out);
    append_slots(graph, task, out);
    append_predecessors(into[i], out);
    if (task.release.value > 0) fmt::format_to(out, " from {:.6g} s", task.release.value);
    if (task.priority != 0) fmt::format_to(out, " priority {}", task.priority);
    for (const TaskPhase& phase : task.phases) append_phase(phase, out);
    for (const Memory& memory : task.memory) append_memory(graph, memory, out);
    text += '\n';
  }
  return text;
}

}  // namespace trainyard
