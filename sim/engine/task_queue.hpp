// Which tasks may start: counts what each waits for and arbitrates the streams. Knows nothing of SimGrid.
#pragma once

#include <queue>
#include <span>
#include <vector>

#include "sim/model/task_graph.hpp"
#include "sim/model/timeline.hpp"

namespace trainyard {

/// Rows of numbers of unequal length in one block of memory.
class Rows {
 public:
  Rows() = default;
  /// Row r gets, in order, the second of every pair whose first is r.
  Rows(std::size_t rows, std::span<const std::pair<int, int>> entries);
  [[nodiscard]] std::span<const int> operator[](std::size_t row) const {
    return {values_.data() + begin_[row], values_.data() + begin_[row + 1]};
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<int> values_;
};

/// A task goes through waiting, ready (predecessors ended, released), started, ended. A ready task starts when every one of
/// its streams is free and, in program order, its turn. Where several could, they are tried by descending priority (only
/// tasks with a slot on a priority stream have one, others count as 0), then by the time they became ready, then by id;
/// one that is blocked elsewhere is passed over. Nothing that was started is interrupted.
class TaskQueue {
 public:
  /// `steps` instances of the graph in a row, as unroll() numbers them; loop-carried edges join them.
  explicit TaskQueue(const TaskGraph& graph, int steps = 1);

  /// True if the order in which the ends of one instant become known can change what starts: all of them must be told
  /// before take_startable().
  [[nodiscard]] bool ties_matter() const { return ties_matter_; }

  void release(int task, double now) { unblock(task, now); }
  void end(int task, double now);
  /// The task will never end: its streams stay taken, its successors wait for ever.
  void lose(int task) { status_[static_cast<std::size_t>(task)] = TaskStatus::lost; }
  /// Tasks with a slot on this processor never start from now on. Returns those that run.
  std::vector<int> lose_processor(ProcessorId processor, double now);
  /// The same as lose() for a task that waits for a channel that has had no capacity since then.
  void stall(int task, ChannelId channel, double since);

  /// Marks as started, and returns in `started`, all tasks that can start now.
  void take_startable(std::vector<int>& started);

  [[nodiscard]] TaskStatus status(int task) const { return status_[static_cast<std::size_t>(task)]; }
  [[nodiscard]] std::size_t tasks() const { return status_.size(); }
  [[nodiscard]] bool all_done() const { return ended_ == tasks(); }
  /// "" if every task is done or cannot go on because of a loss or a stall; else who waits for whom, with a cycle.
  [[nodiscard]] std::string stuck() const;
  /// "" if every task is done; else, of tasks that cannot go on because of a loss or a stall: who waits for whom, on what.
  [[nodiscard]] std::string halt() const;

 private:
  struct Offer {
    int rank = 0;          ///< priority, higher first
    double ready = 0;
    int task = 0;
    int stream = -1;       ///< offered by this queue, whose next is offered when this one is blocked; -1: by itself
    bool operator<(const Offer& other) const {  // std::priority_queue takes the greatest first
      if (rank != other.rank) return rank < other.rank;
      if (ready != other.ready) return ready > other.ready;
      return task > other.task;
    }
  };
  struct StreamState {
    bool program_order = true;
    bool busy = false;
    std::size_t next = 0;          ///< program order: position of the task whose turn it is
    std::vector<Offer> waiting;    ///< else: ready tasks, first the one to take first
  };

  [[nodiscard]] std::size_t in_step(int task) const { return static_cast<std::size_t>(task) % graph_.tasks.size(); }
  [[nodiscard]] std::span<const int> streams_of(int task) const { return slots_[in_step(task)]; }
  /// The task at a stream's position in program order; positions go on from step to step. -1: behind the last.
  [[nodiscard]] int turn(int stream, std::size_t position) const;
  template <class F>
  void for_successors(int task, F&& act) const;
  void unblock(int task, double now);
  void enqueue(const Offer& offer);
  void dequeue(const Offer& offer);
  void free_stream(int stream);
  void offer_after(int stream, const Offer* tried);
  [[nodiscard]] bool can_start(int task) const;
  void start(const Offer& offer);
  [[nodiscard]] std::vector<int> waits_for(int task) const;
  [[nodiscard]] std::vector<char> explained_by_loss() const;
  [[nodiscard]] std::string describe_wait(int from) const;
  [[nodiscard]] std::string describe_task(int task) const;
  [[nodiscard]] std::string with_members(int task) const;
  [[nodiscard]] int first_blocked() const;
  [[nodiscard]] std::string reason(int task) const;
  [[nodiscard]] std::string waiters(int task) const;

  struct Stall {
    int task = 0;
    ChannelId channel{};
    double since = 0;
  };

  const TaskGraph& graph_;
  Rows slots_;                     ///< [task of a step] streams
  Rows successors_;                ///< [task of a step] tasks by distance from the start of its step
  Rows order_;                     ///< [stream] tasks of a step by id
  std::vector<int> blockers_;      ///< [task] predecessors that have not ended, plus 1 before the release
  std::vector<Offer> offers_;      ///< [task] its place in queues
  std::vector<TaskStatus> status_;
  std::vector<char> started_, dead_;
  std::vector<double> lost_since_;           ///< [processor]; NaN: it is there
  std::vector<Stall> stalls_;
  std::vector<StreamState> streams_;
  std::priority_queue<Offer> candidates_;
  std::size_t ended_ = 0;
  bool ties_matter_ = false;
};

template <class F>
void TaskQueue::for_successors(int task, F&& act) const {
  const std::size_t own = in_step(task), step_begins = static_cast<std::size_t>(task) - own;
  for (const int next : successors_[own])
    if (const std::size_t at = step_begins + static_cast<std::size_t>(next); at < tasks()) act(static_cast<int>(at));
}

}  // namespace trainyard
