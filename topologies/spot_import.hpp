// `import spot FILE`: a public record of spot nodes as scenario YAML.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// How a record is read, and what is made of it.
struct SpotImport {
  std::string format;              ///< "": told from the file
  std::string column, unit;        ///< as in `market.availability`
  bool fit = false, sort = false, inverted = false;
};

/// Every format of a record of nodes.
[[nodiscard]] std::vector<std::string> availability_format_names();
/// The record as a `market:` section, or with `fit` the Markov chain fitted to it; comments give its figures. Throws UserError.
[[nodiscard]] std::string import_spot(const std::string& file, const SpotImport& options);

}  // namespace trainyard
