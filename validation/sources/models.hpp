// Models by the names that published tables print.
#pragma once

#include <string>

namespace trainyard {

struct PublishedModel {
  std::string name;   ///< one name for all spellings, for groups
  int layers = 0;     ///< decoder layers of the whole model
  std::string shape;  ///< YAML keys of a model written out, without `layers`
};

/// Throws Unmapped for a name that no table of sizes is known for.
[[nodiscard]] PublishedModel published_model(const std::string& printed);

/// `{layers: n, ..}`; 0: all layers.
[[nodiscard]] std::string written_out(const PublishedModel& model, int layers = 0);

}  // namespace trainyard
