#include "sim/lowering/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/lowering/collective_group.hpp"
#include "sim/lowering/replay_exchanges.hpp"
#include "sim/lowering/replay_times.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kLongestName = 96;  ///< of an operation, in traces and reports
constexpr int kHostStream = -1, kMemoryStream = -2, kOutside = -3;

/// Collectives that have no closed form of their own run as the one that moves the same bytes through the root's port.
CollectiveKind kind_of(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::all_reduce:
    case ExchangeKind::barrier:
      return CollectiveKind::all_reduce;
    case ExchangeKind::reduce:
    case ExchangeKind::broadcast:
      return CollectiveKind::broadcast;
    case ExchangeKind::all_gather:
    case ExchangeKind::gather:
    case ExchangeKind::scatter:
      return CollectiveKind::all_gather;
    case ExchangeKind::all_to_all:
      return CollectiveKind::all_to_all;
    case ExchangeKind::reduce_scatter:
      return CollectiveKind::reduce_scatter;
  }
  return CollectiveKind::all_reduce;
}

/// Communicator (-1: a transfer), members, kind: flows of different communicators can be under way at once, so that
/// each has a path of its own.
using WayKey = std::tuple<int, std::vector<DeviceId>, CollectiveKind>;

/// A group that exchanges in one way: its path and what its collectives cost.
struct Way {
  CollectiveGroup group;
  PathId path{};
};

class Replayer {
 public:
  Replayer(const TraceReplay& replay, const Cluster& cluster, const Router& router)
      : replay_(replay), trace_(replay.trace), cluster_(cluster), router_(router), clock_(replay) {}

  ReplayedTrace make() {
    place_ranks();
    made_.remarks = trace_.remarks;
    if (alone_for_all())
      simulate_one();
    else
      simulate_all();
    make_channels();
    const std::vector<std::string> times = clock_.remarks();
    made_.remarks.insert(made_.remarks.end(), times.begin(), times.end());
    refuse_circles();
    return std::move(made_);
  }

 private:
  [[nodiscard]] std::size_t world() const { return trace_.file_of_rank.size(); }
  [[nodiscard]] bool alone_for_all() const { return trace_.files.size() == 1 && world() > 1; }
  [[nodiscard]] const RankTrace& file_of(int rank) const {
    return trace_.files[std::size_t(trace_.file_of_rank[std::size_t(rank)])];
  }
  TaskGraph& graph() { return made_.graph; }

  void place_ranks() {
    made_.devices = cluster_.gpus();
    if (made_.devices.size() < world())
      throw UserError(fmt::format("{}: {} ranks, but the cluster has {} GPUs; at least one a rank is needed",
                                  trace_.files.front().file, world(), made_.devices.size()));
    made_.devices.resize(world());
  }

  void add_processor(int rank, std::int64_t stands_for) {
    const Device& device = cluster_.devices[index(made_.devices[std::size_t(rank)])];
    graph().processors.push_back({device.name,
                                  cluster_.type_of(made_.devices[std::size_t(rank)]).name,
                                  int(index(device.node)),
                                  device.memory,
                                  stands_for,
                                  {}});
    made_.simulated.push_back(rank);
  }

  /// Streams of a rank, made when first used.
  StreamId stream(std::size_t processor, int which, const std::string& title) {
    const auto [at, added] =
        streams_.try_emplace({int(processor), which, title}, id_at<StreamId>(graph().streams.size()));
    if (added) graph().streams.push_back({id_at<ProcessorId>(processor), title, Discipline::arrival});
    return at->second;
  }

  StreamId stream_of(std::size_t processor, const TraceNode& node) {
    if (node.work == TraceWork::host) return stream(processor, kHostStream, "host");
    if (node.work == TraceWork::memory) return stream(processor, kMemoryStream, "memory");
    if (node.work == TraceWork::exchange) return communication(processor, node.group);
    return stream(processor, node.stream, node.stream == 0 ? "compute" : fmt::format("stream {}", node.stream));
  }

  /// One a communicator, as libraries have it.
  StreamId communication(std::size_t processor, int group) {
    const std::string& name = trace_.groups.empty() ? std::string() : trace_.groups[std::size_t(group)].name;
    return stream(processor, kOutside - group,
                  name.empty() ? "communication" : "communication " + name.substr(0, kLongestName));
  }

  Task task_of(const TraceNode& node) const {
    Task task;
    task.label.kind = node.label;
    task.label.detail = trace_.names[std::size_t(node.name)].substr(0, kLongestName);
    return task;
  }

  TaskId add(Task task) {
    graph().tasks.push_back(std::move(task));
    return id_at<TaskId>(graph().tasks.size() - 1);
  }

  /// What needs nobody else. Recorded times hold already what kernels beside each other do to one another: they pass as
  /// they are.
  Task own_task(std::size_t processor, const TraceNode& node) {
    Task task = task_of(node);
    if (node.work == TraceWork::none || node.work == TraceWork::receive) return task;
    const int rank = made_.simulated[processor];
    const DeviceId device = made_.devices[std::size_t(rank)];
    const bool kept = node.work == TraceWork::exchange;  // of unknown size
    const Seconds time =
        kept ? std::max(node.time, Seconds(0))
             : clock_.time_of(node, file_of(rank), cluster_.devices[index(device)], cluster_.type_of(device));
    if (node.work != TraceWork::lag) task.slots.push_back({stream_of(processor, node), 0});
    if (time > Seconds(0)) task.phases.push_back({time, std::nullopt, {}});
    return task;
  }

  /// Tasks of a rank's nodes, but for those that `meets` has made already.
  void add_rank(std::size_t processor, std::vector<TaskId>& tasks) {
    const RankTrace& file = file_of(made_.simulated[processor]);
    for (std::size_t i = 0; i < file.nodes.size(); ++i)
      if (index(tasks[i]) == index(kNone)) tasks[i] = add(own_task(processor, file.nodes[i]));
    for (const auto& [from, to] : file.edges) {
      const TaskId a = tasks[std::size_t(from)], b = tasks[std::size_t(to)];
      if (a != b) graph().edges.push_back({a, b, 0});
    }
  }

  void simulate_all() {
    const ReplayMeetings meetings = meetings_of(trace_);
    for (std::size_t rank = 0; rank < world(); ++rank) {
      add_processor(int(rank), 1);
      made_.task_of.emplace_back(file_of(int(rank)).nodes.size(), kNone);
    }
    for (const ReplayGroup& group : meetings.groups) add_group(group);
    for (const auto& [way, exchange] : meetings.ways) add_transfers(std::get<0>(way), std::get<1>(way), exchange);
    for (std::size_t rank = 0; rank < world(); ++rank) add_rank(rank, made_.task_of[rank]);
  }

  void add_group(const ReplayGroup& group) {
    for (std::size_t i = 0; i < group.nodes[0].size(); ++i) {
      const TraceNode* largest = nullptr;
      for (std::size_t m = 0; m < group.members.size(); ++m) {
        const TraceNode& node = file_of(group.members[m]).nodes[std::size_t(group.nodes[m][i])];
        if (largest == nullptr || node.bytes > largest->bytes) largest = &node;
      }
      Task task = task_of(*largest);
      for (const int member : group.members) task.slots.push_back({communication(std::size_t(member), group.group), 0});
      if (group.members.size() > 1)
        add_flow(way_of(group.group, devices_of(group.members), kind_of(largest->exchange)), largest->bytes, task);
      const TaskId id = add(std::move(task));
      for (std::size_t m = 0; m < group.members.size(); ++m)
        made_.task_of[std::size_t(group.members[m])][std::size_t(group.nodes[m][i])] = id;
    }
  }

  std::vector<DeviceId> devices_of(const std::vector<int>& ranks) const {
    std::vector<DeviceId> devices;
    for (const int rank : ranks) devices.push_back(made_.devices[std::size_t(rank)]);
    return devices;
  }

  void add_transfers(int from, int to, const ReplayWay& exchange) {
    for (std::size_t i = 0; i < exchange.sends.size(); ++i) {
      const TraceNode& node = file_of(from).nodes[std::size_t(exchange.sends[i].node)];
      Task task = task_of(node);
      task.slots.push_back(
          {stream(std::size_t(from), kOutside - int(trace_.groups.size()) - to, fmt::format("send to {}", to)), 0});
      if (from != to)
        add_flow(route_between(made_.devices[std::size_t(from)], made_.devices[std::size_t(to)]), node.bytes, task);
      const TaskId id = add(std::move(task));
      made_.task_of[std::size_t(from)][std::size_t(exchange.sends[i].node)] = id;
      const ReplayPlace& receive = exchange.receives[i];
      const TaskId received = add(own_task(std::size_t(to), file_of(to).nodes[std::size_t(receive.node)]));
      made_.task_of[std::size_t(to)][std::size_t(receive.node)] = received;
      graph().edges.push_back({id, received, 0});
    }
  }

  void add_flow(const Way& way, double bytes, Task& task) const {
    const CollectiveCost cost =
        collective_cost(way.group.shape, cluster_.transports[index(way.group.transport)], Bytes(std::max(bytes, 1.0)));
    task.phases.push_back({cost.delay, std::nullopt, {{way.path, cost.bytes}}});
  }

  const Way& add_way(const WayKey& key, CollectiveGroup group, LinkUses uses) {
    group.shape.kind = std::get<CollectiveKind>(key);
    const PathId path = id_at<PathId>(paths_.size());
    paths_.push_back(std::move(uses));
    return ways_.emplace(key, Way{std::move(group), path}).first->second;
  }

  const Way& way_of(int of, const std::vector<DeviceId>& members, CollectiveKind kind) {
    if (const auto known = ways_.find({of, members, kind}); known != ways_.end()) return known->second;
    CollectiveGroup group = collective_group(cluster_, router_, members, kind);
    LinkUses uses = group.links;
    return add_way({of, members, kind}, std::move(group), std::move(uses));
  }

  const Way& route_between(DeviceId from, DeviceId to) {
    const WayKey key{-1, {from, to}, CollectiveKind::send};
    if (const auto known = ways_.find(key); known != ways_.end()) return known->second;
    const Route& route = router_.route(from, to);
    CollectiveGroup group;
    for (const LinkId link : route.links) group.links.emplace_back(link, 1);
    group.transport = router_.transport_of(route);
    group.shape.hops = 1;
    group.shape.hop_latency = route.latency;
    group.shape.ring_rate = route.bottleneck;
    LinkUses uses = group.links;
    return add_way(key, std::move(group), std::move(uses));
  }

  /// One rank for all: every group of a kind exchanges at the same time, and the slowest sets the pace.
  void simulate_one() {
    add_processor(0, std::int64_t(world()));
    const RankTrace& file = trace_.files.front();
    std::vector<TaskId>& tasks = made_.task_of.emplace_back(file.nodes.size(), kNone);
    for (std::size_t i = 0; i < file.nodes.size(); ++i) {
      const TraceNode& node = file.nodes[i];
      if (node.work != TraceWork::exchange || node.bytes < 0) continue;
      Task task = task_of(node);
      task.slots.push_back({communication(0, node.group), 0});
      if (const Way* way = way_of_all(node)) add_flow(*way, node.bytes, task);
      tasks[i] = add(std::move(task));
    }
    add_rank(0, tasks);
  }

  /// Null where the groups have one member.
  const Way* way_of_all(const TraceNode& node) {
    const CollectiveKind kind = kind_of(node.exchange);
    const std::pair<int, CollectiveKind> key{node.group, kind};
    if (const auto known = of_all_.find(key); known != of_all_.end()) return known->second;
    return of_all_[key] = make_way_of_all(node, kind);
  }

  const Way* make_way_of_all(const TraceNode& node, CollectiveKind kind) {
    std::vector<char> covered(world(), 0);
    std::map<LinkId, int> uses;
    std::vector<CollectiveGroup> groups;
    std::vector<DeviceId> first;
    for (std::size_t rank = 0; rank < world(); ++rank) {
      if (covered[rank]) continue;
      const std::vector<int> members = members_with(trace_, node.group, int(rank), node);
      for (const int member : members) covered[std::size_t(member)] = 1;
      if (members.size() < 2) return nullptr;
      if (first.empty()) first = devices_of(members);
      groups.push_back(collective_group(cluster_, router_, devices_of(members), kind));
      for (const auto& [link, times] : groups.back().links) uses[link] += times;
    }
    for (CollectiveGroup& group : groups) {
      for (auto& [link, times] : group.links) times = uses[link];
      group.shape.ring_rate = rate_over(cluster_, group.links);
    }
    CollectiveGroup slowest =
        *std::ranges::min_element(groups, {}, [](const CollectiveGroup& group) { return group.shape.ring_rate.value; });
    LinkUses links = slowest.links;
    return &add_way({node.group, first, kind}, std::move(slowest), std::move(links));
  }

  /// Links that several paths use are channels; those of one path, on which there is one flow at a time, only bound it.
  void make_channels() {
    std::map<LinkId, int> users;
    for (const LinkUses& path : paths_)
      for (const auto& [link, times] : path) ++users[link];
    std::map<LinkId, ChannelId> channels;
    for (const LinkUses& uses : paths_) {
      Path path;
      LinkUses own;
      for (const auto& [link, times] : uses) {
        if (users[link] < 2) {
          own.emplace_back(link, times);
          continue;
        }
        const auto [at, added] = channels.try_emplace(link, id_at<ChannelId>(graph().channels.size()));
        if (added) graph().channels.push_back({cluster_.name_of(link), cluster_.links[index(link)].bandwidth});
        path.channels.emplace_back(at->second, times);
      }
      path.limit = rate_over(cluster_, own);
      graph().paths.push_back(std::move(path));
    }
  }

  /// Where nodes of several ranks wait for each other, no rank's file alone shows it.
  void refuse_circles() const {
    const TaskGraph& whole = made_.graph;
    std::vector<int> blockers(whole.tasks.size(), 0), first(whole.tasks.size() + 1, 0), next(whole.edges.size());
    for (const Edge& edge : whole.edges) ++blockers[index(edge.to)], ++first[index(edge.from) + 1];
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<int> fill(first.begin(), first.end() - 1), ready;
    for (const Edge& edge : whole.edges) next[std::size_t(fill[index(edge.from)]++)] = int(index(edge.to));
    for (std::size_t i = 0; i < blockers.size(); ++i)
      if (blockers[i] == 0) ready.push_back(int(i));
    for (std::size_t done = 0; done < ready.size(); ++done)
      for (int k = first[std::size_t(ready[done])]; k < first[std::size_t(ready[done]) + 1]; ++k)
        if (--blockers[std::size_t(next[std::size_t(k)])] == 0) ready.push_back(next[std::size_t(k)]);
    if (ready.size() < whole.tasks.size()) throw UserError(circle_text(blockers));
  }

  /// The first node of each rank that never runs.
  std::string circle_text(const std::vector<int>& blockers) const {
    std::string text;
    int told = 0;
    for (std::size_t s = 0; s < made_.task_of.size() && told < 3; ++s)
      for (std::size_t i = 0; i < made_.task_of[s].size(); ++i)
        if (blockers[index(made_.task_of[s][i])] > 0) {
          text += (told++ == 0 ? "" : "; ") + place_text(trace_, {made_.simulated[s], int(i)});
          break;
        }
    return "deadlock: these nodes wait for each other: " + text + "; ranks must exchange in one order";
  }

  static constexpr TaskId kNone = static_cast<TaskId>(-1);

  const TraceReplay& replay_;
  const ExecutionTrace& trace_;
  const Cluster& cluster_;
  const Router& router_;
  ReplayClock clock_;
  ReplayedTrace made_;
  std::map<std::tuple<int, int, std::string>, StreamId> streams_;
  std::map<WayKey, Way> ways_;
  std::map<std::pair<int, CollectiveKind>, const Way*> of_all_;
  std::vector<LinkUses> paths_;  ///< [path of the graph]
};

}  // namespace

ReplayedTrace replay(const TraceReplay& replay, const Cluster& cluster, const Router& router) {
  return Replayer(replay, cluster, router).make();
}

}  // namespace trainyard
