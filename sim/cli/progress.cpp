#include "sim/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace trainyard {
namespace {

constexpr std::size_t kWidth = 40;

}  // namespace

std::string time_left(std::size_t done, std::size_t all, double seconds_so_far) {
  if (done == 0 || done >= all) return "";
  const double left = seconds_so_far / double(done) * double(all - done);
  if (left < 90) return fmt::format("{:.0f} s left", std::ceil(left));
  if (left < 90 * 60) return fmt::format("{:.0f} min left", std::ceil(left / 60));
  return fmt::format("{:.1f} h left", left / 3600);
}

Progress::Progress(bool wanted, const char* things)
    : wanted_(wanted && ::isatty(STDERR_FILENO) == 1), things_(things) {}

Progress::~Progress() { end(); }

void Progress::end() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::show(std::size_t done, std::size_t all) {
  if (!before_) before_ = done;
  if (!wanted_ || all == 0) return;
  shown_ = true;
  const std::size_t filled = std::min(kWidth, kWidth * done / all);
  const std::string left = time_left(done - *before_, all - *before_, seconds());
  fmt::print(stderr, "\r\033[K[{}{}] {} of {} {}{}{}", std::string(filled, '#'), std::string(kWidth - filled, ' '),
             done, all, things_, left.empty() ? "" : ", ", left);
  std::fflush(stderr);
}

}  // namespace trainyard
