// The section `jobs:`.
#pragma once

#include <string>

#include "sim/scenario/scenario.hpp"

namespace trainyard {

/// Gives every job its groups of nodes, reads its workload and its strategy, and leaves the other nodes to the variant's own
/// workload. `section` is a list that the schema has accepted. Mistakes go to `diagnostics`.
void add_other_jobs(const ConfigValue& section, const std::string& directory, Variant& variant, Diagnostics& diagnostics);

}  // namespace trainyard
