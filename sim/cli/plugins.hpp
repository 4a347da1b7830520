// Shared libraries whose strategies register themselves.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// Loads them for the rest of the run, before any scenario is read. UserError where one cannot be loaded, registers nothing, or registers
/// a name that is taken or built against other headers.
void load_plugins(const std::vector<std::string>& files);

}  // namespace trainyard
