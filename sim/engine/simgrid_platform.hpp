// The resources of a task graph as a SimGrid platform, set up so that flows share links equally and times are exact.
#pragma once

#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "sim/model/event_trace.hpp"
#include "sim/model/task_graph.hpp"

namespace trainyard {

/// Owns the SimGrid engine; at most one a process, ever. A processor is a host that only computes, a channel is a link, and
/// a path with channels is a pair of dummy hosts with one route between them.
class SimGridPlatform {
 public:
  /// `slowed`: [path] whether its limit changes while the graph runs.
  SimGridPlatform(const TaskGraph& graph, const EventTrace& events, const std::vector<char>& slowed);
  SimGridPlatform(const SimGridPlatform&) = delete;

  [[nodiscard]] simgrid::s4u::Engine& engine() { return engine_; }
  [[nodiscard]] simgrid::s4u::Host* host(ProcessorId processor) const { return hosts_[index(processor)]; }
  /// No capacity leaves next to nothing: SimGrid would give a flow over such a link all that its other links have.
  void set_capacity(ChannelId channel, BytesPerSecond capacity);
  /// Multiplies the path's own limit; only for paths given to the constructor as `slowed`.
  void set_limit_factor(PathId path, double factor);
  /// Whether flows of this path are SimGrid's; others just last their time.
  [[nodiscard]] bool has_route(PathId path) const { return paths_[index(path)].from != nullptr; }
  /// An idle host for work of no amount.
  [[nodiscard]] simgrid::s4u::Host* spare_host() const { return spare_host_; }

  /// An Exec that takes `alone` with nothing beside it, and at most that share of the processor. Not started.
  [[nodiscard]] simgrid::s4u::ExecPtr kernel(ProcessorId processor, Seconds alone, double share) const;
  /// Starts a flow; its first byte leaves after `latency`. The path must have channels, the bytes be more than 0.
  void start_flow(const simgrid::s4u::CommPtr& flow, PathId path, std::uint64_t bytes, Seconds latency);

 private:
  struct Ends {
    simgrid::s4u::Host* from = nullptr;
    simgrid::s4u::Host* to = nullptr;
    simgrid::s4u::Link* own = nullptr;
    double factor = 1;                       ///< of the limit now
  };

  void find_highest(const EventTrace& events);
  void show_highest(PathId path, bool highest);
  void build_paths(simgrid::s4u::NetZone* root, const std::vector<char>& slowed);
  void build_path(simgrid::s4u::NetZone* zone, std::size_t path);

  const TaskGraph& graph_;
  simgrid::s4u::Engine engine_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::s4u::Link*> links_;
  std::vector<double> capacity_, highest_;   ///< [channel] now, and the most it ever has; empty if capacities never change
  std::vector<Ends> paths_;
  simgrid::s4u::Host* spare_host_ = nullptr;
  double latency_of_next_flow_ = 0;
};

}  // namespace trainyard
