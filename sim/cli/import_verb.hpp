// `import KIND FILE`.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/arguments.hpp"

namespace trainyard {

/// What `import` reads.
[[nodiscard]] std::vector<std::string> import_kinds();

/// The scenario YAML that stands for the file. Throws UserError, one line.
[[nodiscard]] std::string import_text(const Arguments& arguments);

}  // namespace trainyard
