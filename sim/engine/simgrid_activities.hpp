// The SimGrid activities in flight, by task.
#pragma once

#include <deque>
#include <simgrid/s4u.hpp>
#include <vector>

namespace trainyard {

/// SimGrid does not own activities: one dropped in flight or inside its own completion callback is used after it is freed.
/// They are kept here until the clock has moved on.
class ActivityPool {
 public:
  struct Entry {
    simgrid::s4u::ActivityPtr activity;
    Entry* next_of_task = nullptr;
    int task = -1;
    bool live = false;       ///< its completion is awaited
    bool endless = false;    ///< ends by cancellation only
    int processor = -1;      ///< of a kernel that may slow flows
  };

  explicit ActivityPool(std::size_t tasks) : first_of_task_(tasks, nullptr) {}

  /// Takes charge of an activity that is not started.
  template <class Activity>
  Entry& add(const boost::intrusive_ptr<Activity>& activity, int task, bool endless) {
    Entry* entry = take();
    entry->activity = activity;
    entry->task = task;
    entry->live = true;
    entry->endless = endless;
    entry->processor = -1;
    entry->next_of_task = first_of_task_[static_cast<std::size_t>(task)];
    first_of_task_[static_cast<std::size_t>(task)] = entry;
    activity->set_data(entry);
    return *entry;
  }

  /// Of a task's activities whose completion is awaited.
  template <class Visit>
  void for_each_live(int task, Visit visit) const {
    for (const Entry* entry = first_of_task_[static_cast<std::size_t>(task)]; entry != nullptr; entry = entry->next_of_task)
      if (entry->live) visit(*entry);
  }

  /// The task awaits none of its activities any longer; those in flight are to be cancelled.
  void let_go(int task);
  [[nodiscard]] bool has_cancellations() const { return !to_cancel_.empty(); }
  /// Only from a timer: a cancelled activity holds its resources until SimGrid's next look at what ended.
  void cancel(double now);

  /// Frees what was let go at an earlier time.
  void free_retired(double now);

 private:
  Entry* take();

  std::deque<Entry> entries_;
  std::vector<Entry*> free_, retired_, to_cancel_;
  std::vector<Entry*> first_of_task_;
  double retired_at_ = 0;
};

}  // namespace trainyard
