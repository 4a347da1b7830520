#include "sim/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace trainyard {
namespace {

constexpr std::size_t kWidth = 40;

}  // namespace

Progress::Progress(bool wanted) : shown_(wanted && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::show(std::size_t done, std::size_t all) const {
  if (!shown_ || all == 0) return;
  const std::size_t filled = std::min(kWidth, kWidth * done / all);
  fmt::print(stderr, "\r[{}{}] {} of {} cases", std::string(filled, '#'), std::string(kWidth - filled, ' '), done, all);
  std::fflush(stderr);
}

}  // namespace trainyard
