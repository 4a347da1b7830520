// A bar on standard error while cases run.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace trainyard {

/// How long the rest will take if it goes on as so far: "12 s left", "2 min left", "1.5 h left"; "" before anything is done.
[[nodiscard]] std::string time_left(std::size_t done, std::size_t all, double seconds_so_far);

/// Shown only when standard error is a terminal and it is wanted; erased at the end.
class Progress {
 public:
  /// `things`: what is counted, such as "cases".
  explicit Progress(bool wanted, const char* things = "cases");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// What was done before the first call does not count for the time left.
  void show(std::size_t done, std::size_t all);
  /// Erases the bar, before anything else is printed.
  void end();

 private:
  [[nodiscard]] double seconds() const;

  bool wanted_, shown_ = false;
  const char* things_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<std::size_t> before_;
};

}  // namespace trainyard
