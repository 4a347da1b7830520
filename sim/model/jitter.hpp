// How much times vary from operation to operation.
#pragma once

#include <cstdint>

namespace trainyard {

/// Every operation's kernels, and every exchange, take their time multiplied by a factor of mean 1, drawn from a log-normal
/// distribution. The factors are the same in every step. By default equal devices share a draw, which keeps their symmetry; per
/// device, a group in lock step waits for its slowest member.
struct Jitter {
  double kernels = 0, communication = 0;   ///< standard deviation over mean
  bool per_device = false;
  std::uint64_t seed = 1;
  [[nodiscard]] bool any() const { return kernels > 0 || communication > 0; }
  friend bool operator==(const Jitter&, const Jitter&) = default;
};

}  // namespace trainyard
