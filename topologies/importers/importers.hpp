// Topologies that other programs write, as a `cluster:` section; private to topologies.
#pragma once

#include <string>
#include <variant>

namespace trainyard {

/// Why a file could not be read: one line, without the file's name.
struct ImportProblem {
  std::string message;
};

/// YAML that build_cluster reads, with comments on what the file leaves open.
using ImportedCluster = std::variant<std::string, ImportProblem>;

[[nodiscard]] ImportedCluster import_nvidia_smi(const std::string& text);
[[nodiscard]] ImportedCluster import_astra_sim(const std::string& text);
[[nodiscard]] ImportedCluster import_simai(const std::string& text);
[[nodiscard]] ImportedCluster import_simgrid(const std::string& text);

}  // namespace trainyard
