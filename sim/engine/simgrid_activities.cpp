#include "sim/engine/simgrid_activities.hpp"

namespace trainyard {

ActivityPool::Entry* ActivityPool::take() {
  if (free_.empty()) return &entries_.emplace_back();
  Entry* entry = free_.back();
  free_.pop_back();
  return entry;
}

void ActivityPool::let_go(int task) {
  Entry*& first = first_of_task_[static_cast<std::size_t>(task)];
  for (Entry* entry = first; entry != nullptr; entry = entry->next_of_task) {
    (entry->live ? to_cancel_ : retired_).push_back(entry);
    entry->live = false;
  }
  first = nullptr;
}

void ActivityPool::cancel(double now) {
  free_retired(now);
  for (Entry* entry : to_cancel_) {
    entry->activity->cancel();
    retired_.push_back(entry);
  }
  to_cancel_.clear();
}

void ActivityPool::free_retired(double now) {
  if (now == retired_at_) return;
  retired_at_ = now;
  for (Entry* entry : retired_) {
    entry->activity.reset();
    free_.push_back(entry);
  }
  retired_.clear();
}

}  // namespace trainyard
