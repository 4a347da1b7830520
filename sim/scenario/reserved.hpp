// Keys that the file format reserves and that nothing simulates yet: refused by name, never ignored.
#pragma once

#include "sim/config/config_value.hpp"

namespace trainyard {

/// Adds a mistake for every reserved key of a scenario.
void refuse_reserved(const ConfigValue& root, Diagnostics& diagnostics);

}  // namespace trainyard
