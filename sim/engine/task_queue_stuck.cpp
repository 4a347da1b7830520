// Why a simulation came to a halt: who waits for whom.
#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/task_queue.hpp"

namespace trainyard {

/// The tasks not ended whose end this one waits for: its predecessors, and earlier ones on its streams.
std::vector<int> TaskQueue::waits_for(int task) const {
  std::vector<int> found;
  const auto open = [&](int other) { return status_[static_cast<std::size_t>(other)] != TaskStatus::done; };
  for (const Edge& edge : graph_.edges)
    if (static_cast<int>(edge.to) == task && open(static_cast<int>(edge.from))) found.push_back(static_cast<int>(edge.from));
  for (int s : slots_[static_cast<std::size_t>(task)]) {
    const StreamState& stream = streams_[static_cast<std::size_t>(s)];
    const std::span<const int> order = order_[static_cast<std::size_t>(s)];
    if (stream.program_order && stream.next < order.size() && order[stream.next] != task) found.push_back(order[stream.next]);
  }
  return found;
}

/// Lost tasks, tasks that cannot start for want of a processor, and all that wait for these.
std::vector<char> TaskQueue::explained_by_loss() const {
  std::vector<char> explained(graph_.tasks.size(), 0);
  std::vector<int> open;
  const auto explain = [&](int task) {
    const auto i = static_cast<std::size_t>(task);
    if (explained[i] || status_[i] == TaskStatus::done) return;
    explained[i] = 1;
    open.push_back(task);
  };
  for (std::size_t i = 0; i < graph_.tasks.size(); ++i)
    if (dead_[i] || status_[i] == TaskStatus::lost) explain(static_cast<int>(i));
  while (!open.empty()) {
    const auto i = static_cast<std::size_t>(open.back());
    open.pop_back();
    for (int next : successors_[i]) explain(next);
    for (int s : slots_[i])  // queues wait for a lost task only, program order for one that never starts, too
      for (int other : order_[static_cast<std::size_t>(s)])
        if (streams_[static_cast<std::size_t>(s)].program_order ? other > static_cast<int>(i) : started_[i] != 0) explain(other);
  }
  return explained;
}

std::string TaskQueue::describe_wait(int from) const {
  std::vector<int> walk;
  for (int at = from; std::find(walk.begin(), walk.end(), at) == walk.end();) {
    walk.push_back(at);
    const std::vector<int> next = waits_for(at);
    if (next.empty()) return describe(graph_, id_at<TaskId>(static_cast<std::size_t>(at))) + " waits for nothing, yet did not end";
    const auto seen = std::find(walk.begin(), walk.end(), next.front());
    at = next.front();
    if (seen != walk.end()) walk.erase(walk.begin(), seen);
  }
  std::string text = describe(graph_, id_at<TaskId>(static_cast<std::size_t>(walk.front())));
  walk.push_back(walk.front());
  for (std::size_t i = 1; i < walk.size(); ++i) {
    const Task& waiting = graph_.tasks[static_cast<std::size_t>(walk[i - 1])];
    std::string stream;
    for (const Slot& slot : waiting.slots) {
      const std::span<const int> order = order_[index(slot.stream)];
      if (walk[i] < walk[i - 1] && std::find(order.begin(), order.end(), walk[i]) != order.end())
        stream = fmt::format(" (before it on stream \"{}\" of {})", graph_.streams[index(slot.stream)].name,
                             graph_.processors[index(graph_.streams[index(slot.stream)].processor)].name);
    }
    text += fmt::format(" waits for {}{}", describe(graph_, id_at<TaskId>(static_cast<std::size_t>(walk[i]))), stream);
  }
  return text;
}

std::string TaskQueue::stuck() const {
  const std::vector<char> explained = explained_by_loss();
  std::size_t count = 0;
  int first = -1;
  for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
    if (status_[i] == TaskStatus::done || explained[i]) continue;
    ++count;
    if (first < 0) first = static_cast<int>(i);
  }
  if (count == 0) return "";
  return fmt::format("the simulation came to a halt with {} of {} tasks not ended: {}", count, graph_.tasks.size(), describe_wait(first));
}

}  // namespace trainyard
