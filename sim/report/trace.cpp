#include "sim/report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicroseconds = 1e6;

struct TraceWriter {
  std::string text;
  void add(const Json& event) {
    text += text.empty() ? "" : ",\n";
    text += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
};

/// One result as processes from `first_process` on.
struct TracedCase {
  const StepTrace& trace;
  std::string prefix;
  int first_process = 0;
  [[nodiscard]] int process_of(ProcessorId processor) const {
    return first_process + trace.graph.processors[index(processor)].node;
  }
};

Json metadata(const char* what, int process, int thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

std::string processor_title(const Processor& processor) {
  if (processor.devices == 1) return processor.name;
  return fmt::format("{} (stands for {})", processor.name, processor.devices);
}

void name_threads(const TracedCase& traced, TraceWriter& writer) {
  const TaskGraph& graph = traced.trace.graph;
  std::set<int> nodes;
  for (const Processor& processor : graph.processors) nodes.insert(processor.node);
  for (const int node : nodes)
    writer.add(metadata("process_name", traced.first_process + node, 0, fmt::format("{}node {}", traced.prefix, node)));
  for (std::size_t i = 0; i < graph.streams.size(); ++i) {
    const Stream& stream = graph.streams[i];
    const std::string title = processor_title(graph.processors[index(stream.processor)]) + " " + stream.name;
    writer.add(metadata("thread_name", traced.process_of(stream.processor), static_cast<int>(i) + 1, title));
  }
}

/// "backward 3 of stage 1" says more than a task id.
std::string title_of(const TaskLabel& label) {
  std::string title = name(label.kind);
  if (!label.detail.empty()) title += " " + label.detail;
  if (label.micro_batch >= 0) title += fmt::format(" {}", label.micro_batch);
  if (label.stage >= 0) title += fmt::format(" of stage {}", label.stage);
  return title;
}

Json arguments_of(const TaskLabel& label) {
  Json arguments = {{"step", label.step}};
  const auto add = [&](const char* key, int value) {
    if (value >= 0) arguments[key] = value;
  };
  add("pipeline", label.pipeline);
  add("stage", label.stage);
  add("micro_batch", label.micro_batch);
  add("chunk", label.chunk);
  add("layer", label.layer);
  for (const TimePart& part : label.parts) arguments["seconds"][name(part.kind)] = part.time.value;
  return arguments;
}

Json task_event(const Task& task, Seconds start, Seconds end) {
  return {{"ph", "X"},
          {"name", title_of(task.label)},
          {"cat", name(task.label.kind)},
          {"ts", start.value * kMicroseconds},
          {"dur", (end - start).value * kMicroseconds},
          {"pid", 0},
          {"tid", 0},
          {"args", arguments_of(task.label)}};
}

void add_tasks(const TracedCase& traced, TraceWriter& writer) {
  const auto& [graph, timeline] = traced.trace;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (!is_finite(timeline.start[i]) || !is_finite(timeline.end[i])) continue;
    Json event = task_event(graph.tasks[i], timeline.start[i], timeline.end[i]);
    for (const Slot& slot : graph.tasks[i].slots) {
      event["pid"] = traced.process_of(graph.streams[index(slot.stream)].processor);
      event["tid"] = static_cast<int>(index(slot.stream)) + 1;
      writer.add(event);
    }
  }
}

struct MemoryChange {
  double at = 0;
  MemoryClass kind{};
  double bytes = 0;
};
using HeldBytes = std::array<double, kMemoryClasses>;

/// Bytes inside a task count from its start at their highest: the counter never shows less than what was held.
void collect(const Memory& memory, Seconds start, Seconds end, std::vector<MemoryChange>& changes) {
  const double during = std::max(memory.at_start.value, memory.peak_inside.value);
  const double after = memory.at_start.value + memory.at_end.value;
  changes.push_back({start.value * kMicroseconds, memory.kind, during});
  changes.push_back({end.value * kMicroseconds, memory.kind, after - during});
}

std::vector<std::vector<MemoryChange>> changes_by_processor(const StepTrace& trace) {
  const auto& [graph, timeline] = trace;
  std::vector<std::vector<MemoryChange>> all(graph.processors.size());
  for (const Resident& resident : graph.residents)
    all[index(resident.processor)].push_back({0, resident.kind, resident.bytes.value});
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (!is_finite(timeline.start[i]) || !is_finite(timeline.end[i])) continue;
    for (const Memory& memory : graph.tasks[i].memory)
      collect(memory, timeline.start[i], timeline.end[i], all[index(memory.processor)]);
  }
  for (auto& changes : all)
    std::stable_sort(changes.begin(), changes.end(),
                     [](const MemoryChange& a, const MemoryChange& b) { return a.at < b.at; });
  return all;
}

Json counter(const Processor& processor, int process, double at, const HeldBytes& held) {
  Json bytes;
  for (int i = 0; i < kMemoryClasses; ++i) bytes[name(static_cast<MemoryClass>(i))] = held[static_cast<std::size_t>(i)];
  return {{"ph", "C"}, {"name", "bytes on " + processor.name}, {"ts", at}, {"pid", process}, {"args", bytes}};
}

void add_counters(const TracedCase& traced, TraceWriter& writer) {
  const auto all = changes_by_processor(traced.trace);
  for (std::size_t p = 0; p < all.size(); ++p) {
    HeldBytes held{};
    for (std::size_t i = 0; i < all[p].size(); ++i) {
      held[static_cast<std::size_t>(all[p][i].kind)] += all[p][i].bytes;
      if (i + 1 < all[p].size() && all[p][i + 1].at == all[p][i].at) continue;
      writer.add(
          counter(traced.trace.graph.processors[p], traced.process_of(id_at<ProcessorId>(p)), all[p][i].at, held));
    }
  }
}

int processes_of(const TaskGraph& graph) {
  int nodes = 0;
  for (const Processor& processor : graph.processors) nodes = std::max(nodes, processor.node + 1);
  return nodes;
}

std::string prefix_of(const CaseResult& result, std::size_t traced) {
  if (traced < 2) return "";
  return result.strategy + (result.variant.empty() ? "" : " · " + result.variant) + " · ";
}

}  // namespace

std::string to_trace(const std::vector<CaseResult>& results) {
  const auto traced =
      std::count_if(results.begin(), results.end(), [](const CaseResult& r) { return r.trace.has_value(); });
  TraceWriter writer;
  int first_process = 1;
  for (const CaseResult& result : results) {
    if (!result.trace) continue;
    const TracedCase one{*result.trace, prefix_of(result, static_cast<std::size_t>(traced)), first_process};
    name_threads(one, writer);
    add_tasks(one, writer);
    add_counters(one, writer);
    first_process += processes_of(one.trace.graph);
  }
  return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + writer.text + "\n]}\n";
}

}  // namespace trainyard
