// A model as written in YAML: in a scenario or in the catalogue.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "workloads/architecture.hpp"

namespace trainyard {

/// The keys of a model written out. All are optional here; read_architecture() names what is missing.
[[nodiscard]] std::vector<SchemaField> architecture_fields();

/// The architecture that a checked map describes, completed. Missing keys and sizes that contradict each other go to
/// `diagnostics`, and then nothing is returned.
[[nodiscard]] std::optional<Architecture> read_architecture(const View& model, Diagnostics& diagnostics);

}  // namespace trainyard
