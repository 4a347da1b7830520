// Why a simulation came to a halt: who waits for whom.
#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/task_queue.hpp"

namespace trainyard {

/// The tasks not ended whose end this one waits for: its predecessors, and earlier ones on its streams.
std::vector<int> TaskQueue::waits_for(int task) const {
  std::vector<int> found;
  const auto open = [&](int other) { return status_[static_cast<std::size_t>(other)] != TaskStatus::done; };
  const int step = static_cast<int>(graph_.tasks.size());
  for (const Edge& edge : graph_.edges) {
    if (index(edge.to) != in_step(task)) continue;
    const int from = task - static_cast<int>(edge.to) - edge.distance * step + static_cast<int>(edge.from);
    if (edge.distance <= task / step && open(from)) found.push_back(from);
  }
  for (int s : streams_of(task)) {
    const StreamState& stream = streams_[static_cast<std::size_t>(s)];
    const int next = turn(s, stream.next);
    if (stream.program_order && next >= 0 && next != task) found.push_back(next);
  }
  return found;
}

/// Lost tasks, tasks that cannot start for want of a processor, and all that wait for these.
std::vector<char> TaskQueue::explained_by_loss() const {
  std::vector<char> explained(tasks(), 0);
  std::vector<int> open;
  const auto explain = [&](int task) {
    const auto i = static_cast<std::size_t>(task);
    if (explained[i] || status_[i] == TaskStatus::done) return;
    explained[i] = 1;
    open.push_back(task);
  };
  for (std::size_t i = 0; i < tasks(); ++i)
    if (dead_[i] || status_[i] == TaskStatus::lost) explain(static_cast<int>(i));
  while (!open.empty()) {
    const auto i = static_cast<std::size_t>(open.back());
    open.pop_back();
    for_successors(static_cast<int>(i), explain);
    for (int s : streams_of(static_cast<int>(i)))  // queues wait for a lost task only, program order for one that never starts, too
      for (std::size_t position = 0; turn(s, position) >= 0; ++position)
        if (const int other = turn(s, position); streams_[static_cast<std::size_t>(s)].program_order ? other > static_cast<int>(i) : started_[i] != 0)
          explain(other);
  }
  return explained;
}

std::string TaskQueue::describe_wait(int from) const {
  std::vector<int> walk;
  for (int at = from; std::find(walk.begin(), walk.end(), at) == walk.end();) {
    walk.push_back(at);
    const std::vector<int> next = waits_for(at);
    if (next.empty()) return describe_task(at) + " waits for nothing, yet did not end";
    const auto seen = std::find(walk.begin(), walk.end(), next.front());
    at = next.front();
    if (seen != walk.end()) walk.erase(walk.begin(), seen);
  }
  std::string text = describe_task(walk.front());
  walk.push_back(walk.front());
  for (std::size_t i = 1; i < walk.size(); ++i) {
    const Task& waiting = graph_.tasks[in_step(walk[i - 1])];
    std::string stream;
    for (const Slot& slot : waiting.slots) {
      const std::span<const int> order = order_[index(slot.stream)];
      if (walk[i] < walk[i - 1] && std::find(order.begin(), order.end(), static_cast<int>(in_step(walk[i]))) != order.end())
        stream = fmt::format(" (before it on stream \"{}\" of {})", graph_.streams[index(slot.stream)].name,
                             graph_.processors[index(graph_.streams[index(slot.stream)].processor)].name);
    }
    text += fmt::format(" waits for {}{}", describe_task(walk[i]), stream);
  }
  return text;
}

std::string TaskQueue::describe_task(int task) const {
  const std::string text = describe(graph_, id_at<TaskId>(in_step(task)));
  const std::size_t step = static_cast<std::size_t>(task) / graph_.tasks.size();
  return step == 0 ? text : fmt::format("{} of step {}", text, step);
}

std::string TaskQueue::stuck() const {
  const std::vector<char> explained = explained_by_loss();
  std::size_t count = 0;
  int first = -1;
  for (std::size_t i = 0; i < tasks(); ++i) {
    if (status_[i] == TaskStatus::done || explained[i]) continue;
    ++count;
    if (first < 0) first = static_cast<int>(i);
  }
  if (count == 0) return "";
  return fmt::format("the simulation came to a halt with {} of {} tasks not ended: {}", count, tasks(), describe_wait(first));
}

}  // namespace trainyard
