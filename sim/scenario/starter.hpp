// The scenario that `trainyard init` prints.
#pragma once

#include <string>

namespace trainyard {

/// A commented scenario that loads and runs as it stands.
[[nodiscard]] std::string starter_scenario();

}  // namespace trainyard
