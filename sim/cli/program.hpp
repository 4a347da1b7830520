// The program behind main(): words in, exit status out.
#pragma once

#include <string>
#include <vector>

#include "sim/engine/workers.hpp"

namespace trainyard {

/// Runs one command line (without the program's name). Every exception ends here as a message on standard error and an
/// exit status of design.md §3.
[[nodiscard]] int run_program(const std::vector<std::string>& words, const WorkerNursery& nursery);

}  // namespace trainyard
