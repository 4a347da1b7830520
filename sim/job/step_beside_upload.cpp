#include "sim/job/step_beside_upload.hpp"

#include <algorithm>
#include <map>

#include "sim/job/step_memory.hpp"
#include "sim/job/step_simulator.hpp"
#include "sim/lowering/step_report.hpp"
#include "sim/lowering/transition.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr int kSteps = 4;
/// An upload that would end within a step is made longer than one, so that all simulated steps have it beside them.
constexpr double kLongerThanStep = 1.25;

/// What a device's host sends, and over which links.
struct Sender {
  std::vector<LinkId> links;
  Bytes bytes{};
};

std::vector<Sender> senders_of(const std::vector<StateMove>& moves, const Cluster& cluster, const Router& router) {
  std::map<DeviceId, Sender> senders;
  for (const StateMove& move : moves) {
    Sender& sender = senders[move.from.device];
    if (sender.links.empty()) sender.links = links_to_outside(cluster, router, move.from.device);
    sender.bytes += move.bytes;
  }
  std::vector<Sender> all;
  for (auto& [device, sender] : senders) all.push_back(std::move(sender));
  return all;
}

/// Links on which nobody else travels bound the flow; the others are channels of the step.
Path path_of(const Sender& sender, const Lowered& lowered, const Cluster& cluster, const Store& store, ChannelId to_store) {
  Path path;
  path.limit = store.per_node;
  for (const LinkId link : sender.links) {
    const auto channel = std::ranges::find(lowered.channel_links, link);
    const BytesPerSecond bandwidth = cluster.links[index(link)].bandwidth;
    if (channel != lowered.channel_links.end())
      path.channels.emplace_back(id_at<ChannelId>(std::size_t(channel - lowered.channel_links.begin())), 1);
    else if (path.limit.value <= 0 || bandwidth < path.limit)
      path.limit = bandwidth;
  }
  path.channels.emplace_back(to_store, 1);
  return path;
}

/// One upload after the other, a task a sender and step. Returns the first of the tasks.
std::size_t add_uploads(const std::vector<Sender>& senders, double times, const Cluster& cluster, const Store& store, Lowered& lowered) {
  TaskGraph& graph = lowered.graph;
  const std::size_t first = graph.tasks.size();
  const ChannelId to_store = id_at<ChannelId>(graph.channels.size());
  graph.channels.push_back({"to store", store.bandwidth});
  for (const Sender& sender : senders) {
    Task task;
    task.label.detail = "upload";
    task.phases = {{Seconds(0), std::nullopt, {{id_at<PathId>(graph.paths.size()), sender.bytes * times}}}};
    graph.paths.push_back(path_of(sender, lowered, cluster, store, to_store));
    graph.edges.push_back({id_at<TaskId>(graph.tasks.size()), id_at<TaskId>(graph.tasks.size()), 1});
    graph.tasks.push_back(std::move(task));
  }
  return first;
}

/// What an upload that the store bounds takes of the links on its way while it lasts.
class SteadyLoad {
 public:
  SteadyLoad(const std::vector<Sender>& senders, Seconds upload, const Store& store) : share_(store.bandwidth / double(senders.size())) {
    if (store.per_node.value > 0) share_ = std::min(share_, store.per_node);
    for (const Sender& sender : senders)
      for (const LinkId link : sender.links) {
        taken_[link] += sender.bytes / upload;
        ++senders_[link];
      }
  }

  /// Whether senders keep their shares of the store while the step has a flow on the same link, and leave it some.
  [[nodiscard]] bool is_steady(const Cluster& cluster) const {
    return std::ranges::all_of(taken_, [&](const auto& entry) {
      const BytesPerSecond bandwidth = cluster.links[index(entry.first)].bandwidth;
      return double(senders_.at(entry.first) + 1) * share_ <= bandwidth && entry.second < bandwidth;
    });
  }

  void take_from(Cluster& cluster) const {
    for (const auto& [link, rate] : taken_) cluster.links[index(link)].bandwidth -= rate;
  }

 private:
  BytesPerSecond share_;
  std::map<LinkId, BytesPerSecond> taken_;
  std::map<LinkId, int> senders_;
};

/// What is left when the last step has ended travels alone, at the pace of `alone`.
Seconds time_of_upload(Seconds ended, Seconds trained, Seconds alone) {
  if (ended <= trained) return ended;
  const double share = 1 - std::min(1.0, (ended - trained) / alone);
  return share > 0 ? trained / share : ended;
}

/// Four steps with uploads beside them, each longer than a step.
StepBesideUpload beside_flows(Lowered lowered, const std::vector<Sender>& senders, double times, Seconds alone, const Cluster& cluster, const Store& store,
                              const WorkerNursery& nursery, StepMemory& memory) {
  const std::size_t first = add_uploads(senders, times, cluster, store, lowered), tasks = lowered.graph.tasks.size();
  const std::uint64_t key = hash(lowered.graph);
  if (const StepBesideUpload* known = memory.find_beside(key)) return *known;
  const std::vector<SimulationResult> results = nursery.run({{lowered.graph, {}, false, kSteps, false}}, 1);
  if (const auto* failure = std::get_if<WorkerFailure>(&results.front()))
    throw InternalError("a step beside an upload: " + failure->why + " " + failure->last_words);
  const Timeline& timeline = std::get<Timeline>(results.front());
  Seconds trained{}, ended{};
  for (std::size_t i = 0; i < timeline.end.size(); ++i)
    if (i % tasks < first) trained = std::max(trained, timeline.end[i]);
  for (std::size_t i = first; i < tasks; ++i) ended = std::max(ended, timeline.end[i]);
  const std::vector<Seconds> start = step_times(lowered.graph, timeline).start;
  return memory.keep_beside(key, {(start.back() - start[1]) / double(kSteps - 2), time_of_upload(ended, trained, alone * times) / times});
}

}  // namespace

StepBesideUpload step_beside_upload(const Plan& plan, const Workload& workload, const Cluster& cluster, const std::vector<StateMove>& moves,
                                    Seconds alone, Seconds step, const Store& store, LoweringOptions options, const WorkerNursery& nursery, StepMemory& memory) {
  const Router router(cluster);
  const std::vector<Sender> senders = senders_of(moves, cluster, router);
  if (const SteadyLoad load(senders, alone, store); load.is_steady(cluster)) {
    Cluster loaded = cluster;
    load.take_from(loaded);
    StepSimulator simulator(loaded, workload, options, nursery, 1, &memory);
    const std::vector<SimulationOutcome> outcome = simulator.simulate(std::span(&plan, 1));
    if (const auto* error = std::get_if<SimulationError>(&outcome.front())) throw InternalError("a step beside an upload: " + error->why);
    return {std::get<StepReport>(outcome.front()).step_time, alone};
  }
  for (const Sender& sender : senders) options.apart.insert(options.apart.end(), sender.links.begin(), sender.links.end());
  std::ranges::sort(options.apart);
  options.apart.erase(std::unique(options.apart.begin(), options.apart.end()), options.apart.end());
  const double times = std::max(1.0, kLongerThanStep * (step / alone));
  return beside_flows(lower(plan, workload, cluster, router, options), senders, times, alone, cluster, store, nursery, memory);
}

}  // namespace trainyard
