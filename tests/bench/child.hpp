// What a function gives and costs in a process of its own: SimGrid allows one engine a process.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace trainyard::bench {

/// CPU time and peak memory are those of the process with all that it started.
template <class Result>
struct Measured {
  Result result{};
  double wall_s = 0, cpu_s = 0, peak_mb = 0;
  bool ended_well = false;
};

inline double seconds(const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); }

/// `Result` is plain data.
template <class Result, class Function>
Measured<Result> in_child(Function function) {
  Measured<Result> measured;
  int ends[2];
  if (::pipe(ends) != 0) return measured;
  const auto start = std::chrono::steady_clock::now();
  const int pid = ::fork();
  if (pid == 0) {
    const Result result = function();
    ::_exit(::write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  ::close(ends[1]);
  const bool whole = ::read(ends[0], &measured.result, sizeof(Result)) == sizeof(Result);
  ::close(ends[0]);
  rusage used{};
  int status = 0;
  ::wait4(pid, &status, 0, &used);
  measured.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  measured.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  measured.peak_mb = double(used.ru_maxrss) / 1024;
  measured.ended_well = whole && status == 0;
  return measured;
}

}  // namespace trainyard::bench
