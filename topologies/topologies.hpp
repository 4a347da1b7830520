// YAML `cluster:` -> Cluster: catalogues of GPUs, instances and links; insides of nodes; fabrics between them.
#pragma once

#include <string>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// Of the `cluster:` section.
[[nodiscard]] Schema cluster_schema();

/// Builds the cluster that a section (already checked against cluster_schema()) describes. Names that no catalogue
/// knows, data that contradict each other and the like go to `diagnostics`. `directory`: where FILE options are looked
/// up.
[[nodiscard]] Cluster build_cluster(const ConfigValue& section, const std::string& directory, Diagnostics& diagnostics);

/// One catalogue entry as people read it: key, aliases, facts, sources.
struct CatalogueEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;  ///< one line
  std::string details;  ///< several lines
};
[[nodiscard]] std::vector<CatalogueEntry> gpu_catalogue();
[[nodiscard]] std::vector<CatalogueEntry> instance_catalogue();
[[nodiscard]] std::vector<CatalogueEntry> fabric_catalogue();
/// What import_topology reads.
[[nodiscard]] std::vector<std::string> topology_import_kinds();
/// A topology of another program as a `cluster:` section that build_cluster reads; comments say what the file leaves
/// open. Throws UserError, one line, for files that are not of that kind, damaged, or beyond what is read.
[[nodiscard]] std::string import_topology(const std::string& kind, const std::string& file);

/// Text of all catalogue files, for `catalogue_hash`.
[[nodiscard]] std::string topology_catalogue_text();

}  // namespace trainyard
