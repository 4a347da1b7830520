// `import KIND FILE`, and `export PLAN --for FRAMEWORK`, its inverse for launch arguments.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/arguments.hpp"

namespace trainyard {

/// What `import` reads.
[[nodiscard]] std::vector<std::string> import_kinds();

/// The scenario YAML that stands for the file. Throws UserError, one line.
[[nodiscard]] std::string import_text(const Arguments& arguments);

/// The launch of a Plan; writes the rank file. What was left out goes to standard error, by name.
[[nodiscard]] std::string export_text(const Arguments& arguments);

}  // namespace trainyard
