// The verbs.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/arguments.hpp"
#include "sim/engine/workers.hpp"

namespace trainyard {

/// `run` and `compare`. Returns the exit status.
[[nodiscard]] int simulate(const Arguments& arguments, const WorkerNursery& nursery);
/// `collective`: one simulated collective a size, on the first GPUs of the scenario's cluster (sim/cli/collective_verb.cpp).
[[nodiscard]] std::string collective_text(const Arguments& arguments, const WorkerNursery& nursery);
/// The text of `explain`, `list`, `schema`.
[[nodiscard]] std::string explain_text(const Arguments& arguments);
[[nodiscard]] std::string list_text(const Arguments& arguments);
[[nodiscard]] std::string schema_text();
/// The script of `completion`.
[[nodiscard]] std::string completion_text(const Arguments& arguments);

/// Names of a catalogue, one of those of `list`, without aliases.
[[nodiscard]] std::vector<std::string> catalogue_names(const std::string& what);

/// FNV-1a over the text of all catalogues, 16 hexadecimal digits: results with equal hashes come from equal catalogues.
[[nodiscard]] std::string catalogue_hash();
/// Of the program, as in its CMake project.
[[nodiscard]] std::string version();

}  // namespace trainyard
