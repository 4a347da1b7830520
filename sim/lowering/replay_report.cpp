#include <fmt/format.h>

#include <algorithm>

#include "sim/lowering/replay.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

struct Interval {
  double from = 0, to = 0;
};

/// Sorted, without overlaps.
std::vector<Interval> united(std::vector<Interval> all) {
  std::ranges::sort(all, {}, &Interval::from);
  std::vector<Interval> made;
  for (const Interval& one : all) {
    if (!made.empty() && one.from <= made.back().to)
      made.back().to = std::max(made.back().to, one.to);
    else
      made.push_back(one);
  }
  return made;
}

double length_of(const std::vector<Interval>& united_intervals) {
  double length = 0;
  for (const Interval& one : united_intervals) length += one.to - one.from;
  return length;
}

double length_of_both(std::vector<Interval> a, const std::vector<Interval>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return length_of(united(std::move(a)));
}

/// What a rank was seen to do.
struct Course {
  std::vector<Interval> computing, communicating, host;
};

Course course_of(const RankTrace& file, const std::vector<TaskId>& tasks, const TaskGraph& graph,
                 const Timeline& timeline, ReplayRank& rank) {
  Course course;
  for (std::size_t i = 0; i < file.nodes.size(); ++i) {
    const TraceNode& node = file.nodes[i];
    const std::size_t task = index(tasks[i]);
    require(timeline.status[task] == TaskStatus::done, "a node of a trace runs once");
    const Interval when{timeline.start[task].value, timeline.end[task].value};
    const bool exchanges = node.work == TraceWork::exchange || node.work == TraceWork::send;
    rank.exchanges += exchanges;
    if (graph.tasks[task].phases.empty()) continue;
    if (exchanges) course.communicating.push_back(when);
    if (node.work == TraceWork::host) course.host.push_back(when);
    if (node.work != TraceWork::compute && node.work != TraceWork::memory) continue;
    course.computing.push_back(when);
    rank.work += graph.tasks[task].phases.front().delay;
  }
  return course;
}

ReplayRank rank_of(int number, const RankTrace& file, const std::vector<TaskId>& tasks, const TaskGraph& graph,
                   const Timeline& timeline) {
  ReplayRank rank;
  rank.rank = number;
  rank.nodes = std::int64_t(file.nodes.size());
  Course course = course_of(file, tasks, graph, timeline, rank);
  const std::vector<Interval> computing = united(std::move(course.computing)),
                              communicating = united(std::move(course.communicating));
  std::vector<Interval> device = computing;
  device.insert(device.end(), communicating.begin(), communicating.end());
  device = united(std::move(device));
  const double busy = length_of(device), with_host = length_of_both(device, course.host);
  rank.computing = Seconds(length_of(computing));
  rank.communication = Seconds(length_of(communicating));
  rank.exposed = Seconds(busy) - rank.computing;
  rank.host = Seconds(with_host - busy);
  rank.idle = timeline.makespan - Seconds(with_host);
  return rank;
}

/// From the first begin to the last end of the rank that took longest.
std::optional<Seconds> recorded_step(const ExecutionTrace& trace) {
  std::optional<Seconds> longest;
  for (const RankTrace& file : trace.files) {
    Seconds from(1e300), to(-1);
    for (const TraceNode& node : file.nodes) {
      if (node.begin < Seconds(0)) continue;
      from = std::min(from, node.begin);
      to = std::max(to, node.begin + std::max(node.time, Seconds(0)));
    }
    if (to > from) longest = std::max(longest.value_or(Seconds(0)), to - from);
  }
  return longest;
}

}  // namespace

ReplayReport replay_report(const TraceReplay& replay, const ReplayedTrace& lowered, const Timeline& timeline,
                           const Cluster& cluster) {
  ReplayReport report;
  const ExecutionTrace& trace = replay.trace;
  report.source = replay.source;
  std::vector<char> counted(lowered.graph.tasks.size(), 0);
  for (std::size_t s = 0; s < lowered.simulated.size(); ++s) {
    const int number = lowered.simulated[s];
    const RankTrace& file = trace.files[std::size_t(trace.file_of_rank[std::size_t(number)])];
    report.ranks.push_back(rank_of(number, file, lowered.task_of[s], lowered.graph, timeline));
    report.ranks.back().device = cluster.devices[index(lowered.devices[std::size_t(number)])].name;
    report.nodes += report.ranks.back().nodes;
    for (std::size_t i = 0; i < file.nodes.size(); ++i) {
      const TraceNode& node = file.nodes[i];
      if ((node.work != TraceWork::exchange && node.work != TraceWork::send) || node.bytes < 0 ||
          counted[index(lowered.task_of[s][i])]++)
        continue;
      ++report.exchanges;
      report.exchanged += Bytes(node.bytes);
    }
  }
  report.recorded_step = recorded_step(trace);
  report.heading = fmt::format(
      "{}: {} rank{}, {} nodes{}", replay.source, trace.file_of_rank.size(), trace.file_of_rank.size() == 1 ? "" : "s",
      report.nodes, lowered.simulated.size() < trace.file_of_rank.size() ? " (of one rank, which stands for all)" : "");
  return report;
}

}  // namespace trainyard
