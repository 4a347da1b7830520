// The verbs of the program: their names, what they do, and what the catalogues are called that `list` shows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/cli/arguments.hpp"

namespace trainyard {

struct VerbInfo {
  Verb verb;
  const char* name;
  const char* summary;
  const char* examples;  ///< lines of its help
};

/// In the order of the overview.
[[nodiscard]] std::span<const VerbInfo> verbs();
[[nodiscard]] const std::vector<std::string>& catalogues();

}  // namespace trainyard
