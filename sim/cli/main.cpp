#include <unistd.h>

#include <csignal>

#include "sim/cli/exit_status.hpp"
#include "sim/cli/program.hpp"

namespace {

/// Worker processes notice that this one is gone and end.
void interrupted(int) { ::_exit(trainyard::exit_status::kInterrupted); }

}  // namespace

int main(int argc, char** argv) {
  // Before all else: workers are copies of the nursery, and a small process is cheap to copy.
  const trainyard::WorkerNursery nursery = trainyard::WorkerNursery::start();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, interrupted);
  return trainyard::run_program({argv + 1, argv + argc}, nursery);
}
