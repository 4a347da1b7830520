// The frameworks there are. Private to sim/scenario/launch.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/launch/framework.hpp"

namespace trainyard::launch {

[[nodiscard]] const std::vector<const Framework*>& frameworks();
/// All of a file. Throws UserError, one line.
[[nodiscard]] std::string text_of(const std::string& file);

}  // namespace trainyard::launch
