#include "sim/model/critical_path.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace trainyard {
namespace {

/// Task i of step s of the timeline is s · tasks + i.
using Instance = std::size_t;

class Chain {
 public:
  Chain(const TaskGraph& step, const Timeline& timeline)
      : step_(step), timeline_(timeline), tasks_(step.tasks.size()), on_stream_(step.streams.size()), into_(tasks_) {
    for (const Edge& edge : step.edges) into_[index(edge.to)].push_back(&edge);
    for (Instance i = 0; i < timeline.start.size(); ++i)
      if (is_finite(timeline.end[i]))
        for (const Slot& slot : task(i).slots) on_stream_[index(slot.stream)].push_back(i);
    for (auto& stream : on_stream_) std::ranges::sort(stream, {}, [&](Instance i) { return std::pair(start(i), i); });
  }

  [[nodiscard]] const Task& task(Instance i) const { return step_.tasks[i % tasks_]; }
  [[nodiscard]] Seconds start(Instance i) const { return timeline_.start[i]; }
  [[nodiscard]] Seconds end(Instance i) const { return timeline_.end[i]; }

  /// The first to start at or after `to`; else the last to end.
  [[nodiscard]] std::optional<Instance> last(Seconds to) const {
    std::optional<Instance> next, ended;
    for (Instance i = 0; i < timeline_.start.size(); ++i) {
      if (task(i).slots.empty() || !is_finite(start(i))) continue;
      if (start(i) >= to && (!next || start(i) < start(*next))) next = i;
      if (is_finite(end(i)) && end(i) <= to && (!ended || end(i) > end(*ended))) ended = i;
    }
    return next ? next : ended;
  }

  /// What ended last of all that it waited for; of equals whoever held its stream.
  [[nodiscard]] std::optional<Instance> before(Instance i) const {
    std::optional<Instance> latest;
    const auto offer = [&](std::optional<Instance> other) {
      if (other && is_finite(end(*other)) && (!latest || end(*other) > end(*latest))) latest = other;
    };
    for (const Slot& slot : task(i).slots) offer(holder_before(i, index(slot.stream)));
    for (const Edge* edge : into_[i % tasks_]) offer(source(*edge, i));
    return latest;
  }

 private:
  /// Only who started earlier: a chain that goes back in time ends.
  [[nodiscard]] std::optional<Instance> holder_before(Instance i, std::size_t stream) const {
    const auto& all = on_stream_[stream];
    const auto own = std::ranges::lower_bound(all, start(i), {}, [&](Instance other) { return start(other); });
    return own == all.begin() ? std::nullopt : std::optional(*std::prev(own));
  }

  [[nodiscard]] std::optional<Instance> source(const Edge& edge, Instance i) const {
    const std::size_t step = i / tasks_, distance = std::size_t(edge.distance);
    return distance > step ? std::nullopt : std::optional((step - distance) * tasks_ + index(edge.from));
  }

  const TaskGraph& step_;
  const Timeline& timeline_;
  std::size_t tasks_;
  std::vector<std::vector<Instance>> on_stream_;  ///< [stream] by start
  std::vector<std::vector<const Edge*>> into_;    ///< [task]
};

class Parts {
 public:
  explicit Parts(const TaskGraph& step) : step_(step) {}

  void add_wait(Seconds time) {
    if (time > Seconds(0)) sums_[{"wait", -1, -1, -1}] += time;
  }

  /// A merged task's time by the shares of its parts.
  void add(const Task& task, Seconds time) {
    if (!(time > Seconds(0))) return;
    Seconds all{};
    for (const TimePart& part : task.label.parts) all += part.time;
    if (all <= Seconds(0)) return put(task, task.label.kind, time);
    for (const TimePart& part : task.label.parts) put(task, part.kind, time * (part.time / all));
  }

  [[nodiscard]] std::vector<PathPart> per_step(int steps) const {
    std::vector<PathPart> parts;
    for (const auto& [key, time] : sums_) {
      const auto& [kind, pipeline, stage, processor] = key;
      const Processor* on = processor < 0 ? nullptr : &step_.processors[std::size_t(processor)];
      parts.push_back({kind, pipeline, stage, on ? on->name : "", on ? on->model : "", time / double(steps)});
    }
    std::ranges::stable_sort(parts, [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
    return parts;
  }

 private:
  void put(const Task& task, TaskKind kind, Seconds time) {
    if (!(time > Seconds(0))) return;
    const char* word = kind == TaskKind::weight_gradient ? name(TaskKind::backward) : name(kind);
    const int processor =
        task.slots.empty() ? -1 : int(index(step_.streams[index(task.slots.front().stream)].processor));
    sums_[{word, task.label.pipeline, task.label.stage, processor}] += time;
  }

  const TaskGraph& step_;
  std::map<std::tuple<std::string, int, int, int>, Seconds> sums_;
};

}  // namespace

std::vector<PathPart> critical_path(const TaskGraph& step, const Timeline& timeline, Seconds from, Seconds to,
                                    int steps) {
  const Chain chain(step, timeline);
  Parts parts(step);
  Seconds until = to;
  std::optional<Instance> at = chain.last(to);
  while (at && until > from) {
    const Seconds end = is_finite(chain.end(*at)) ? std::min(chain.end(*at), until) : until;
    parts.add_wait(until - std::max(end, from));
    const Seconds start = std::min(chain.start(*at), end);
    parts.add(chain.task(*at), end - std::max(start, from));
    until = start;
    at = chain.before(*at);
  }
  if (until > from) parts.add_wait(until - from);
  return parts.per_step(steps);
}

}  // namespace trainyard
