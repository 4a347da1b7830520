#include "sim/report/trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/report/course.hpp"
#include "sim/report/job_trace.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

/// Events have whole nanoseconds, which is what readers count in: what follows on a thread never starts before what
/// ends there.
std::int64_t nanoseconds(Seconds time) { return std::llround(time.value * 1e9); }
double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

/// Names first, then everything in order of time; what was added first at an instant stands first.
class TraceWriter {
 public:
  void add_name(const Json& event) { names_.push_back(line(event)); }
  void add(std::int64_t at, Json event) {
    event["ts"] = microseconds(at);
    events_.emplace_back(at, line(event));
  }
  /// `more`: lines of other events, or nothing.
  [[nodiscard]] std::string document(std::string more) {
    std::ranges::stable_sort(events_, {}, &std::pair<std::int64_t, std::string>::first);
    for (auto& [at, text] : events_) names_.push_back(std::move(text));
    if (!more.empty()) names_.push_back(std::move(more));
    return fmt::format("{{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n{}\n]}}\n", fmt::join(names_, ",\n"));
  }

 private:
  static std::string line(const Json& event) { return event.dump(-1, ' ', false, Json::error_handler_t::replace); }
  std::vector<std::string> names_;
  std::vector<std::pair<std::int64_t, std::string>> events_;
};

/// One result as processes from `first_process` on.
struct TracedCase {
  const StepTrace& trace;
  std::string prefix;
  int first_process = 0;
  [[nodiscard]] int process_of(ProcessorId processor) const {
    return first_process + trace.graph.processors[index(processor)].node;
  }
  [[nodiscard]] bool ran(std::size_t task) const {
    return is_finite(trace.timeline.start[task]) && is_finite(trace.timeline.end[task]);
  }
  /// Behind those of the nodes.
  [[nodiscard]] int links_process() const {
    int last = -1;
    for (const Processor& processor : trace.graph.processors) last = std::max(last, processor.node);
    return first_process + last + 1;
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
    writer.add_name(
        metadata("process_name", traced.first_process + node, 0, fmt::format("{}node {}", traced.prefix, node)));
  for (std::size_t i = 0; i < graph.streams.size(); ++i) {
    const Stream& stream = graph.streams[i];
    const std::string title = processor_title(graph.processors[index(stream.processor)]) + " " + stream.name;
    writer.add_name(metadata("thread_name", traced.process_of(stream.processor), static_cast<int>(i) + 1, title));
  }
}

/// "backward 3 of stage 1" says more than a task id.
std::string title_of(const TaskLabel& label) {
  if (label.kind == TaskKind::other && !label.detail.empty()) return label.detail;
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

/// Where an event is drawn.
void place_on(const TracedCase& traced, StreamId stream, Json& event) {
  event["pid"] = traced.process_of(traced.trace.graph.streams[index(stream)].processor);
  event["tid"] = static_cast<int>(index(stream)) + 1;
}

void add_task(const TracedCase& traced, std::size_t i, TraceWriter& writer) {
  const Task& task = traced.trace.graph.tasks[i];
  const std::int64_t start = nanoseconds(traced.trace.timeline.start[i]),
                     end = nanoseconds(traced.trace.timeline.end[i]);
  Json event = {{"ph", "X"}, {"name", title_of(task.label)},     {"cat", name(task.label.kind)},
                {"ts", 0},   {"dur", microseconds(end - start)}, {"pid", 0},
                {"tid", 0},  {"args", arguments_of(task.label)}};
  for (const Slot& slot : task.slots) {
    place_on(traced, slot.stream, event);
    writer.add(start, event);
  }
}

/// What made the bytes of a transfer, the transfer at both ends, what needs them.
class TransferFlows {
 public:
  TransferFlows(const TracedCase& traced, TraceWriter& writer)
      : traced_(traced),
        graph_(traced.trace.graph),
        writer_(writer),
        before_(graph_.tasks.size(), -1),
        after_(graph_.tasks.size(), -1) {
    for (const Edge& edge : graph_.edges) {
      const auto from = static_cast<int>(index(edge.from)), to = static_cast<int>(index(edge.to));
      if (edge.distance > 0) continue;
      if (computes(from)) before_[index(edge.to)] = from;
      if (computes(to) && after_[index(edge.from)] < 0) after_[index(edge.from)] = to;
    }
  }

  /// Transfers so far; they number the arrows of a document.
  void add(std::size_t task, std::size_t& transfers) {
    const std::vector<Slot>& slots = graph_.tasks[task].slots;
    if (graph_.tasks[task].label.kind != TaskKind::pipeline || slots.size() < 2 ||
        processor(slots.front()) == processor(slots.back()))
      return;
    const std::int64_t start = nanoseconds(traced_.trace.timeline.start[task]);
    std::vector<Stop> stops{{start, slots.front().stream}, {start, slots.back().stream}};
    if (const int from = before_[task]; from >= 0)
      stops.insert(stops.begin(), {last_moment(from), compute_stream(from)});
    if (const int to = after_[task]; to >= 0)
      stops.push_back({nanoseconds(traced_.trace.timeline.start[to]), compute_stream(to)});
    ++transfers;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      Json event = {{"ph", i == 0                 ? "s"
                           : i + 1 < stops.size() ? "t"
                                                  : "f"},
                    {"id", transfers},
                    {"cat", "transfer"},
                    {"name", "transfer"},
                    {"ts", 0}};
      if (i > 0) event["bp"] = "e";
      place_on(traced_, stops[i].stream, event);
      writer_.add(stops[i].at, event);
    }
  }

 private:
  struct Stop {
    std::int64_t at = 0;
    StreamId stream{};
  };
  [[nodiscard]] ProcessorId processor(const Slot& slot) const { return graph_.streams[index(slot.stream)].processor; }
  [[nodiscard]] bool computes(int task) const {
    const std::vector<Slot>& slots = graph_.tasks[static_cast<std::size_t>(task)].slots;
    return traced_.ran(static_cast<std::size_t>(task)) && !slots.empty() &&
           graph_.streams[index(slots.front().stream)].name == "compute";
  }
  [[nodiscard]] StreamId compute_stream(int task) const {
    return graph_.tasks[static_cast<std::size_t>(task)].slots.front().stream;
  }
  /// Of a task, still inside it.
  [[nodiscard]] std::int64_t last_moment(int task) const {
    const auto i = static_cast<std::size_t>(task);
    return std::max(nanoseconds(traced_.trace.timeline.start[i]), nanoseconds(traced_.trace.timeline.end[i]) - 1);
  }

  const TracedCase& traced_;
  const TaskGraph& graph_;
  TraceWriter& writer_;
  std::vector<int> before_, after_;  ///< [task]: compute task that an edge joins to it; -1: none
};

void add_tasks(const TracedCase& traced, std::size_t& transfers, TraceWriter& writer) {
  TransferFlows flows(traced, writer);
  for (std::size_t i = 0; i < traced.trace.graph.tasks.size(); ++i) {
    if (!traced.ran(i)) continue;
    add_task(traced, i, writer);
    flows.add(i, transfers);
  }
}

void add_memory(const TracedCase& traced, TraceWriter& writer) {
  const auto all = held_bytes(traced.trace);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::string title = "bytes on " + traced.trace.graph.processors[p].name;
    for (const HeldPoint& point : all[p]) {
      Json bytes;
      for (int i = 0; i < kMemoryClasses; ++i)
        bytes[name(static_cast<MemoryClass>(i))] = point.bytes[static_cast<std::size_t>(i)];
      writer.add(nanoseconds(point.at), {{"ph", "C"},
                                         {"name", title},
                                         {"ts", 0},
                                         {"pid", traced.process_of(id_at<ProcessorId>(p))},
                                         {"args", bytes}});
    }
  }
}

/// Bytes a second on every link.
void add_links(const TracedCase& traced, TraceWriter& writer) {
  const std::vector<LinkLoad> links = link_loads(traced.trace);
  if (!links.empty()) writer.add_name(metadata("process_name", traced.links_process(), 0, traced.prefix + "links"));
  for (const LinkLoad& link : links)
    for (const LoadPoint& point : link.course)
      writer.add(nanoseconds(point.at), {{"ph", "C"},
                                         {"name", "load on " + link.name},
                                         {"ts", 0},
                                         {"pid", traced.links_process()},
                                         {"args", {{"bytes_per_s", point.bytes_per_s}}}});
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
  std::size_t transfers = 0;
  for (const CaseResult& result : results) {
    if (!result.trace) continue;
    const TracedCase one{*result.trace, prefix_of(result, static_cast<std::size_t>(traced)), first_process};
    name_threads(one, writer);
    add_tasks(one, transfers, writer);
    add_memory(one, writer);
    add_links(one, writer);
    first_process = one.links_process() + 1;
  }
  return writer.document(job_trace_events(results, first_process));
}

}  // namespace trainyard
