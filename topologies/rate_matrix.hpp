// A square matrix of measured rates; private to this folder.
#pragma once

#include <string>
#include <vector>

#include "sim/config/view.hpp"

namespace trainyard {

/// [from][to] in bytes/s, from a file of numbers in Gbps, one row a line, separated by blanks, tabs, commas or
/// semicolons; `#` starts a comment and the diagonal is not read. Mistakes go to `diagnostics` at the key's place.
[[nodiscard]] std::vector<std::vector<double>> read_rate_matrix(const std::string& directory, const View& file,
                                                                Diagnostics& diagnostics);

}  // namespace trainyard
