#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/report/course.hpp"
#include "sim/report/page/views.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicroseconds = 1e6;

struct Span {
  Seconds start{}, end{};
  TaskKind kind{};
  int micro_batch = -1, chunk = -1, tasks = 1;
  Seconds longest{};  ///< of what it is made of: that one gives the kind
};

/// A stream of a device that stands for its class.
struct Row {
  StreamId stream{};
  ProcessorId processor{};
  int stage = -1;
  std::vector<Span> spans;
};

/// The last simulated step: its tasks and when they ran.
class LastStep {
 public:
  explicit LastStep(const StepTrace& trace) : graph_(trace.graph), timeline_(trace.timeline) {
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i)
      if (ran(i)) step_ = std::max(step_, graph_.tasks[i].label.step);
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      if (!belongs(i)) continue;
      from_ = std::min(from_, timeline_.start[i]);
      to_ = std::max(to_, timeline_.end[i]);
    }
    if (to_ < from_) from_ = to_ = Seconds(0);
  }

  [[nodiscard]] int step() const { return step_; }
  [[nodiscard]] Seconds from() const { return from_; }
  [[nodiscard]] Seconds to() const { return to_; }

  /// Rows with something on them: by stage, then device, computing streams first.
  [[nodiscard]] std::vector<Row> rows() const {
    std::vector<Row> all(graph_.streams.size());
    std::vector<int> stages(graph_.processors.size(), std::numeric_limits<int>::max());
    for (std::size_t s = 0; s < all.size(); ++s) all[s] = {id_at<StreamId>(s), graph_.streams[s].processor, -1, {}};
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i)
      if (belongs(i)) add_task(i, all, stages);
    std::erase_if(all, [](const Row& row) { return row.spans.empty(); });
    for (Row& row : all) {
      const int stage = stages[index(row.processor)];
      row.stage = stage == std::numeric_limits<int>::max() ? -1 : stage;
      std::ranges::stable_sort(row.spans, {}, &Span::start);
    }
    std::ranges::stable_sort(all, {}, [](const Row& row) { return std::pair(row.stage, index(row.processor)); });
    return all;
  }

 private:
  [[nodiscard]] bool ran(std::size_t i) const { return is_finite(timeline_.start[i]) && is_finite(timeline_.end[i]); }
  [[nodiscard]] bool belongs(std::size_t i) const {
    return ran(i) && graph_.tasks[i].label.step == step_ && !graph_.tasks[i].slots.empty();
  }

  void add_task(std::size_t i, std::vector<Row>& rows, std::vector<int>& stages) const {
    const Task& task = graph_.tasks[i];
    const Seconds length = timeline_.end[i] - timeline_.start[i];
    for (const Slot& slot : task.slots) {
      Row& row = rows[index(slot.stream)];
      row.spans.push_back(
          {timeline_.start[i], timeline_.end[i], task.label.kind, task.label.micro_batch, task.label.chunk, 1, length});
      if (task.label.stage >= 0 && graph_.streams[index(slot.stream)].name == "compute")
        stages[index(row.processor)] = std::min(stages[index(row.processor)], task.label.stage);
    }
  }

  const TaskGraph& graph_;
  const Timeline& timeline_;
  int step_ = 0;
  Seconds from_{std::numeric_limits<double>::infinity()}, to_{-std::numeric_limits<double>::infinity()};
};

/// Neighbours no longer than `limit`, at most `limit` apart, become one.
std::vector<Span> joined(const std::vector<Span>& spans, Seconds limit) {
  std::vector<Span> fewer;
  for (const Span& span : spans) {
    Span* last = fewer.empty() ? nullptr : &fewer.back();
    const bool joins =
        last != nullptr && span.longest <= limit && last->longest <= limit && span.start - last->end <= limit;
    if (!joins) {
      fewer.push_back(span);
      continue;
    }
    if (span.longest > last->longest) last->kind = span.kind;
    last->longest = std::max(last->longest, span.longest);
    last->end = std::max(last->end, span.end);
    last->tasks += span.tasks;
  }
  return fewer;
}

std::size_t count(const std::vector<Row>& rows) {
  std::size_t spans = 0;
  for (const Row& row : rows) spans += row.spans.size();
  return spans;
}

/// Doubles the limit until few enough are left; returns it. Rows beyond the budget are cut off.
Seconds thin(std::vector<Row>& rows, Seconds length, std::size_t most) {
  if (rows.size() > most) rows.resize(most);
  Seconds limit{};
  for (Seconds next = length / 65536.0; count(rows) > most; next *= 2) {
    limit = next;
    for (Row& row : rows) row.spans = joined(row.spans, limit);
  }
  return limit;
}

std::int64_t micro(Seconds time) { return std::llround(time.value * kMicroseconds); }

Json rows_json(const std::vector<Row>& rows, const TaskGraph& graph) {
  Json all = Json::array();
  for (const Row& row : rows) {
    const Processor& processor = graph.processors[index(row.processor)];
    all.push_back({{"stage", row.stage},
                   {"stream", graph.streams[index(row.stream)].name},
                   {"device", processor.name},
                   {"model", processor.model},
                   {"devices", processor.devices}});
  }
  return all;
}

/// Columns: a span is a number in each.
Json spans_json(const std::vector<Row>& rows, Seconds from) {
  Json row = Json::array(), start = Json::array(), length = Json::array(), kind = Json::array(), batch = Json::array(),
       tasks = Json::array();
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (const Span& span : rows[r].spans) {
      row.push_back(r);
      start.push_back(micro(span.start - from));
      length.push_back(micro(span.end - from) - micro(span.start - from));
      kind.push_back(int(span.kind));
      batch.push_back(span.micro_batch);
      tasks.push_back(span.tasks);
    }
  return {{"row", row}, {"start", start}, {"length", length}, {"kind", kind}, {"micro_batch", batch}, {"tasks", tasks}};
}

Json kinds_json() {
  Json kinds = Json::array();
  for (int k = 0; k <= int(TaskKind::other); ++k) kinds.push_back(name(static_cast<TaskKind>(k)));
  return kinds;
}

/// The highest total in each of `points` equal parts of [from, to]; what is held goes on into the next part.
std::vector<double> highest(const std::vector<HeldPoint>& course, Seconds from, Seconds to, std::size_t points) {
  std::vector<double> most(points, 0);
  const double width = (to - from).value / double(points);
  double held = 0;
  std::size_t next = 0;
  while (next < course.size() && course[next].at <= from) held = course[next++].total();
  for (std::size_t p = 0; p < points; ++p) {
    most[p] = held;
    const Seconds end = from + Seconds(width * double(p + 1));
    for (; next < course.size() && course[next].at < end; ++next) {
      held = course[next].total();
      most[p] = std::max(most[p], held);
    }
  }
  return most;
}

struct HeldCourse {
  std::size_t processor = 0;
  std::vector<double> bytes;
  double fill = 0;  ///< highest, as a share of the capacity
};

Json memory_json(const StepTrace& trace, const LastStep& step, const PageBudget& budget) {
  const auto held = held_bytes(trace);
  std::vector<HeldCourse> courses;
  for (std::size_t p = 0; p < held.size(); ++p) {
    const double capacity = trace.graph.processors[p].memory.value;
    if (held[p].empty() || capacity <= 0) continue;
    HeldCourse course{p, highest(held[p], step.from(), step.to(), budget.points), 0};
    course.fill = *std::ranges::max_element(course.bytes) / capacity;
    if (course.fill > 0) courses.push_back(std::move(course));
  }
  std::ranges::stable_sort(courses, [](const HeldCourse& a, const HeldCourse& b) { return a.fill > b.fill; });
  Json shown = Json::array();
  for (std::size_t i = 0; i < std::min(courses.size(), budget.devices); ++i) {
    const Processor& processor = trace.graph.processors[courses[i].processor];
    Json megabytes = Json::array();
    for (const double bytes : courses[i].bytes) megabytes.push_back(std::llround(bytes / 1e6));
    shown.push_back({{"device", processor.name},
                     {"model", processor.model},
                     {"devices", processor.devices},
                     {"capacity_mb", std::llround(processor.memory.value / 1e6)},
                     {"held_mb", std::move(megabytes)}});
  }
  return {{"all", courses.size()}, {"shown", shown}};
}

/// Mean load in each of `points` equal parts, in thousandths of the capacity.
Json loads_json(const LinkLoad& link, const LastStep& step, std::size_t points) {
  Json loads = Json::array();
  const Seconds part = (step.to() - step.from()) / double(points);
  for (std::size_t p = 0; p < points; ++p)
    loads.push_back(
        std::llround(1000 * use_of(link, step.from() + part * double(p), step.from() + part * double(p + 1)).load));
  return loads;
}

Json links_json(const StepTrace& trace, const LastStep& step, const PageBudget& budget) {
  const std::vector<LinkLoad> links = link_loads(trace);
  std::vector<std::pair<LinkUse, const LinkLoad*>> used;
  for (const LinkLoad& link : links)
    if (const LinkUse use = use_of(link, step.from(), step.to()); use.busy > 0 && link.capacity.value > 0)
      used.emplace_back(use, &link);
  std::ranges::stable_sort(used, [](const auto& a, const auto& b) { return a.first.load > b.first.load; });
  Json shown = Json::array();
  for (std::size_t i = 0; i < std::min(used.size(), budget.links); ++i) {
    const auto& [use, link] = used[i];
    shown.push_back({{"name", link->name},
                     {"capacity_bytes_per_s", link->capacity.value},
                     {"load", use.load},
                     {"busy", use.busy},
                     {"loads", loads_json(*link, step, budget.points / 2)}});
  }
  return {{"all", used.size()}, {"shown", shown}};
}

/// Collectives inside merged tasks, by kind: the largest share of the step that they take on a device.
Json inside_json(const StepTrace& trace, const LastStep& step) {
  std::map<std::string, std::map<std::size_t, double>> seconds;
  for (const Task& task : trace.graph.tasks) {
    if (task.label.step != step.step()) continue;
    for (const TimePart& part : task.label.parts)
      if (part.kind >= TaskKind::tensor && part.kind <= TaskKind::context)
        for (const Slot& slot : task.slots)
          seconds[name(part.kind)][index(trace.graph.streams[index(slot.stream)].processor)] += part.time.value;
  }
  Json inside = Json::array();
  for (const auto& [kind, by_device] : seconds) {
    const auto most = std::ranges::max_element(by_device, {}, [](const auto& entry) { return entry.second; });
    inside.push_back({{"kind", kind},
                      {"device", trace.graph.processors[most->first].name},
                      {"share", most->second / (step.to() - step.from()).value}});
  }
  return inside;
}

}  // namespace

Json step_view(const StepTrace& trace, const PageBudget& budget) {
  const LastStep step(trace);
  if (step.to() <= step.from()) return nullptr;
  std::vector<Row> rows = step.rows();
  const std::size_t tasks = count(rows), streams = rows.size();
  const Seconds limit = thin(rows, step.to() - step.from(), budget.spans);
  return {{"step", step.step() + 1},
          {"length_us", micro(step.to() - step.from())},
          {"tasks", tasks},
          {"streams", streams},
          {"joined_below_us", micro(limit)},
          {"kinds", kinds_json()},
          {"rows", rows_json(rows, trace.graph)},
          {"spans", spans_json(rows, step.from())},
          {"memory", memory_json(trace, step, budget)},
          {"links", links_json(trace, step, budget)},
          {"inside", inside_json(trace, step)}};
}

}  // namespace trainyard
