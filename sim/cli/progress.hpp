// A bar on standard error while cases run.
#pragma once

#include <cstddef>

namespace trainyard {

/// Shown only when standard error is a terminal and it is wanted; erased at the end.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::size_t done, std::size_t all) const;

 private:
  bool shown_;
};

}  // namespace trainyard
