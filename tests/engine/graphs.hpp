// Short ways to write task graphs, and random ones.
#pragma once

#include <string>

#include "sim/model/event_trace.hpp"
#include "sim/model/task_graph.hpp"

namespace trainyard {

/// Adds things to a graph and gives back their ids.
class GraphBuilder {
 public:
  ProcessorId processor(std::string name = "gpu") {
    graph.processors.push_back({.name = std::move(name), .model = "A100-SXM4-40GB", .node = 0, .memory = 40_GB, .devices = 1});
    return id_at<ProcessorId>(graph.processors.size() - 1);
  }
  StreamId stream(ProcessorId on, std::string name = "compute", Discipline discipline = Discipline::program_order) {
    graph.streams.push_back({on, std::move(name), discipline});
    return id_at<StreamId>(graph.streams.size() - 1);
  }
  ChannelId channel(BytesPerSecond capacity) {
    graph.channels.push_back({"channel", capacity});
    return id_at<ChannelId>(graph.channels.size() - 1);
  }
  PathId path(std::vector<std::pair<ChannelId, int>> channels, Seconds latency = {}, BytesPerSecond limit = {}) {
    graph.paths.push_back({std::move(channels), limit, latency});
    return id_at<PathId>(graph.paths.size() - 1);
  }
  TaskId task(std::vector<Slot> slots, std::vector<TaskPhase> phases) {
    graph.tasks.push_back({.label = {}, .slots = std::move(slots), .phases = std::move(phases), .memory = {}});
    return id_at<TaskId>(graph.tasks.size() - 1);
  }
  TaskId kernel(StreamId stream, Seconds alone, double share = 1) { return task({{stream, share}}, {work(alone)}); }
  TaskId flow(StreamId stream, PathId path, Bytes bytes, double share = 0) {
    return task({{stream, share}}, {{.delay = {}, .kernel = {}, .flows = {{path, bytes}}}});
  }
  void edge(TaskId from, TaskId to) { graph.edges.push_back({from, to, 0}); }
  Task& operator[](TaskId id) { return graph.tasks[index(id)]; }

  static TaskPhase work(Seconds alone) {
    Kernel kernel;
    kernel.alone = alone;
    return {.delay = {}, .kernel = kernel, .flows = {}};
  }

  TaskGraph graph;
};

/// A small graph with everything in it: queues of all disciplines, shared channels with multiplicities, limits, delays,
/// interference, releases, work of no amount. Every seed gives another; its tasks can all end.
[[nodiscard]] TaskGraph random_graph(unsigned seed);
/// Losses (if `lossy`) and changes of capacity, down to none, in the first seconds of a random graph.
[[nodiscard]] EventTrace random_events(const TaskGraph& graph, unsigned seed, bool lossy);

}  // namespace trainyard
