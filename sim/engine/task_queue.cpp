#include "sim/engine/task_queue.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

Rows rows_of_slots(const TaskGraph& graph, bool by_stream) {
  std::vector<std::pair<int, int>> entries;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i)
    for (const Slot& slot : graph.tasks[i].slots) {
      const int task = static_cast<int>(i), stream = static_cast<int>(slot.stream);
      entries.push_back(by_stream ? std::pair(stream, task) : std::pair(task, stream));
    }
  return {by_stream ? graph.streams.size() : graph.tasks.size(), entries};
}

Rows rows_of_successors(const TaskGraph& graph) {
  std::vector<std::pair<int, int>> entries;
  entries.reserve(graph.edges.size());
  const int step = static_cast<int>(graph.tasks.size());
  for (const Edge& edge : graph.edges) entries.emplace_back(static_cast<int>(edge.from), static_cast<int>(edge.to) + edge.distance * step);
  return {graph.tasks.size(), entries};
}

}  // namespace

Rows::Rows(std::size_t rows, std::span<const std::pair<int, int>> entries) : begin_(rows + 1, 0), values_(entries.size()) {
  for (const auto& [row, value] : entries) ++begin_[static_cast<std::size_t>(row) + 1];
  for (std::size_t r = 0; r < rows; ++r) begin_[r + 1] += begin_[r];
  std::vector<std::size_t> at(begin_.begin(), begin_.end());
  for (const auto& [row, value] : entries) values_[at[static_cast<std::size_t>(row)]++] = value;
}

TaskQueue::TaskQueue(const TaskGraph& graph, int steps)
    : graph_(graph),
      slots_(rows_of_slots(graph, false)),
      successors_(rows_of_successors(graph)),
      order_(rows_of_slots(graph, true)),
      blockers_(graph.tasks.size() * static_cast<std::size_t>(steps), 0),
      offers_(blockers_.size()),
      status_(blockers_.size(), TaskStatus::never_started),
      started_(blockers_.size(), 0),
      dead_(blockers_.size(), 0),
      lost_since_(graph.processors.size(), std::numeric_limits<double>::quiet_NaN()),
      streams_(graph.streams.size()) {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    streams_[s].program_order = graph.streams[s].discipline == Discipline::program_order;
    ties_matter_ = ties_matter_ || !streams_[s].program_order;
  }
  for (std::size_t i = 0; i < blockers_.size(); ++i) for_successors(static_cast<int>(i), [&](int next) { ++blockers_[static_cast<std::size_t>(next)]; });
  for (std::size_t i = 0; i < blockers_.size(); ++i) {
    offers_[i].task = static_cast<int>(i);
    const Task& task = graph.tasks[in_step(static_cast<int>(i))];
    for (int stream : streams_of(static_cast<int>(i)))
      if (graph.streams[static_cast<std::size_t>(stream)].discipline == Discipline::priority) offers_[i].rank = task.priority;
    if (task.release.value > 0) ++blockers_[i];
    if (blockers_[i] == 0) enqueue(offers_[i]);
  }
}

int TaskQueue::turn(int stream, std::size_t position) const {
  const std::span<const int> order = order_[static_cast<std::size_t>(stream)];
  const std::size_t n = graph_.tasks.size();
  if (position >= order.size() * (tasks() / n)) return -1;
  return static_cast<int>(position / order.size() * n) + order[position % order.size()];
}

void TaskQueue::unblock(int task, double now) {
  const auto i = static_cast<std::size_t>(task);
  if (--blockers_[i] > 0 || dead_[i]) return;
  offers_[i].ready = now;
  enqueue(offers_[i]);
}

void TaskQueue::enqueue(const Offer& offer) {
  for (int s : streams_of(offer.task)) {
    StreamState& stream = streams_[static_cast<std::size_t>(s)];
    if (stream.program_order) continue;
    const auto before = [](const Offer& a, const Offer& b) { return b < a; };
    stream.waiting.insert(std::upper_bound(stream.waiting.begin(), stream.waiting.end(), offer, before), offer);
  }
  candidates_.push(offer);
}

void TaskQueue::dequeue(const Offer& offer) {
  for (int s : streams_of(offer.task)) {
    std::vector<Offer>& waiting = streams_[static_cast<std::size_t>(s)].waiting;
    const auto before = [](const Offer& a, const Offer& b) { return b < a; };
    const auto at = std::lower_bound(waiting.begin(), waiting.end(), offer, before);
    if (at != waiting.end() && at->task == offer.task) waiting.erase(at);
  }
}

void TaskQueue::end(int task, double now) {
  const auto i = static_cast<std::size_t>(task);
  status_[i] = TaskStatus::done;
  ++ended_;
  for (int stream : streams_of(task)) free_stream(stream);
  for_successors(task, [&](int next) { unblock(next, now); });
}

void TaskQueue::free_stream(int s) {
  StreamState& stream = streams_[static_cast<std::size_t>(s)];
  stream.busy = false;
  if (!stream.program_order) return offer_after(s, nullptr);
  const int next = turn(s, ++stream.next);
  if (next < 0) return;
  const auto task = static_cast<std::size_t>(next);
  if (blockers_[task] == 0 && !dead_[task]) candidates_.push(offers_[task]);
}

void TaskQueue::offer_after(int s, const Offer* tried) {
  const std::vector<Offer>& waiting = streams_[static_cast<std::size_t>(s)].waiting;
  const auto before = [](const Offer& a, const Offer& b) { return b < a; };
  const auto at = tried ? std::upper_bound(waiting.begin(), waiting.end(), *tried, before) : waiting.begin();
  if (at == waiting.end()) return;
  Offer next = *at;
  next.stream = s;
  candidates_.push(next);
}

bool TaskQueue::can_start(int task) const {
  const auto i = static_cast<std::size_t>(task);
  if (started_[i] || dead_[i]) return false;
  const std::span<const int> slots = streams_of(task);
  return std::all_of(slots.begin(), slots.end(), [&](int s) {
    const StreamState& stream = streams_[static_cast<std::size_t>(s)];
    return !stream.busy && (!stream.program_order || turn(s, stream.next) == task);
  });
}

void TaskQueue::start(const Offer& offer) {
  const auto i = static_cast<std::size_t>(offer.task);
  started_[i] = 1;
  if (ties_matter_) dequeue(offer);
  for (int stream : streams_of(offer.task)) streams_[static_cast<std::size_t>(stream)].busy = true;
}

void TaskQueue::take_startable(std::vector<int>& started) {
  started.clear();
  while (!candidates_.empty()) {
    const Offer offer = candidates_.top();
    candidates_.pop();
    if (can_start(offer.task)) {
      start(offer);
      started.push_back(offer.task);
    } else if (offer.stream >= 0 && !streams_[static_cast<std::size_t>(offer.stream)].busy) {
      offer_after(offer.stream, &offer);
    }
  }
}

std::vector<int> TaskQueue::lose_processor(ProcessorId processor, double now) {
  if (std::isnan(lost_since_[index(processor)])) lost_since_[index(processor)] = now;
  std::vector<int> running;
  for (std::size_t i = 0; i < tasks(); ++i) {
    const std::vector<Slot>& slots = graph_.tasks[in_step(static_cast<int>(i))].slots;
    const bool holds = std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) {
      return graph_.streams[index(slot.stream)].processor == processor;
    });
    if (!holds || dead_[i]) continue;
    if (!started_[i]) {
      dead_[i] = 1;
      dequeue(offers_[i]);
    } else if (status_[i] == TaskStatus::never_started) {
      running.push_back(static_cast<int>(i));
    }
  }
  return running;
}

void TaskQueue::stall(int task, ChannelId channel, double since) {
  lose(task);
  stalls_.push_back({task, channel, since});
}

}  // namespace trainyard
