#include "sim/lowering/compose.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

template <class Id>
Id moved(Id id, std::size_t by) {
  return id_at<Id>(index(id) + by);
}

/// Adds one job after the other; ids move by what was there before.
class Composer {
 public:
  void add(const JobSteps& job) {
    const TaskGraph own = unroll(job.lowered->graph, job.steps);
    TaskGraph& all = composed_.graph;
    processors_ = all.processors.size();
    streams_ = all.streams.size();
    paths_ = all.paths.size();
    composed_.parts.push_back({all.tasks.size(), own.tasks.size()});
    add_channels(job, own);
    add_resources(own);
    add_tasks(own);
    add_events(job.lowered->events);
  }

  ComposedJobs take() {
    std::ranges::stable_sort(composed_.events, {}, &Event::at);
    return std::move(composed_);
  }

 private:
  void add_channels(const JobSteps& job, const TaskGraph& own) {
    std::vector<Channel>& all = composed_.graph.channels;
    channels_.clear();
    for (std::size_t c = 0; c < own.channels.size(); ++c) {
      const LinkId link = job.links[index(job.lowered->channel_links[c])];
      const auto [known, is_new] = channel_of_link_.try_emplace(link, id_at<ChannelId>(all.size()));
      if (is_new) all.push_back(own.channels[c]);
      require(all[index(known->second)].capacity == own.channels[c].capacity, "jobs see one link alike");
      channels_.push_back(known->second);
    }
  }

  void add_resources(const TaskGraph& own) {
    TaskGraph& all = composed_.graph;
    all.processors.insert(all.processors.end(), own.processors.begin(), own.processors.end());
    for (Stream stream : own.streams) {
      stream.processor = moved(stream.processor, processors_);
      all.streams.push_back(std::move(stream));
    }
    for (Path path : own.paths) {
      for (auto& [channel, times] : path.channels) channel = channels_[index(channel)];
      all.paths.push_back(std::move(path));
    }
    for (Resident resident : own.residents) {
      resident.processor = moved(resident.processor, processors_);
      all.residents.push_back(resident);
    }
  }

  void add_tasks(const TaskGraph& own) {
    TaskGraph& all = composed_.graph;
    const std::size_t first = all.tasks.size();
    for (const Task& task : own.tasks) all.tasks.push_back(moved_task(task));
    for (const Edge& edge : own.edges) all.edges.push_back({moved(edge.from, first), moved(edge.to, first), edge.distance});
  }

  Task moved_task(Task task) const {
    for (Slot& slot : task.slots) slot.stream = moved(slot.stream, streams_);
    for (TaskPhase& phase : task.phases)
      for (Flow& flow : phase.flows) flow.path = moved(flow.path, paths_);
    for (Memory& memory : task.memory) memory.processor = moved(memory.processor, processors_);
    return task;
  }

  /// A change of a shared link is known to every job that uses it: once is enough.
  void add_events(const EventTrace& events) {
    for (Event event : events) {
      if (auto* loss = std::get_if<ProcessorLost>(&event.what)) loss->processor = moved(loss->processor, processors_);
      if (auto* change = std::get_if<CapacityChanged>(&event.what)) change->channel = channels_[index(change->channel)];
      if (std::ranges::find(composed_.events, event) == composed_.events.end()) composed_.events.push_back(event);
    }
  }

  ComposedJobs composed_;
  std::map<LinkId, ChannelId> channel_of_link_;
  std::vector<ChannelId> channels_;      ///< of the job that is added
  std::size_t processors_ = 0, streams_ = 0, paths_ = 0;
};

}  // namespace

Timeline ComposedJobs::part_of(const Timeline& timeline, std::size_t job) const {
  const auto from = static_cast<std::ptrdiff_t>(parts[job].first);
  const auto to = from + static_cast<std::ptrdiff_t>(parts[job].tasks);
  Timeline part;
  part.start.assign(timeline.start.begin() + from, timeline.start.begin() + to);
  part.end.assign(timeline.end.begin() + from, timeline.end.begin() + to);
  part.status.assign(timeline.status.begin() + from, timeline.status.begin() + to);
  for (const Seconds end : part.end)
    if (!std::isnan(end.value)) part.makespan = std::max(part.makespan, end);
  return part;
}

ComposedJobs compose(std::span<const JobSteps> jobs) {
  Composer composer;
  for (const JobSteps& job : jobs) composer.add(job);
  return composer.take();
}

std::vector<LinkId> links_in_common(std::span<const std::vector<LinkId>> links_of_jobs) {
  std::map<LinkId, int> users;
  for (const std::vector<LinkId>& links : links_of_jobs)
    for (const LinkId link : links) ++users[link];
  std::vector<LinkId> common;
  for (const auto& [link, jobs] : users)
    if (jobs > 1) common.push_back(link);
  return common;
}

}  // namespace trainyard
