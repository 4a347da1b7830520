// Another program that answers one question: text to its standard input, its standard output back.
#pragma once

#include <cstddef>
#include <string>

#include "sim/units/quantity.hpp"

namespace trainyard {

struct ChildLimits {
  Seconds time{60};                      ///< from its start to its end
  std::size_t output = 16 << 20;         ///< bytes of standard output
};

/// What came back. `problem` is "" where the program ended with status 0 within its limits, else one line: cannot be started, exit
/// status or signal with the last line of its standard error, too late, too much output.
struct ChildAnswer {
  std::string output;
  std::string problem;
};

/// Runs it in the working directory of this process; a name without a slash is looked up in PATH. Whether it reads its input is its own
/// affair. It and all that it started in its process group have ended on return.
[[nodiscard]] ChildAnswer ask_program(const std::string& program, const std::string& input, const ChildLimits& limits);

}  // namespace trainyard
