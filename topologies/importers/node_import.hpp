// One node as an importer finds it; private to topologies.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "topologies/importers/importers.hpp"

namespace trainyard {

/// A link between two places of a node: GPU number, nicN, cpu, or a switch.
struct ImportedLink {
  std::string a, b;
  double bytes_per_s = 0;  ///< one direction of one link
  int count = 1;
  std::string transport;
};

struct NodeImport {
  std::string gpu;  ///< catalogue key
  int gpus = 0, nics = 0;
  double nic_bytes_per_s = 0;  ///< 0: the file does not say
  std::vector<ImportedLink> links;
  std::vector<std::string> notes;  ///< one line each
};

/// `links:` and its entries, each line behind `indent`.
[[nodiscard]] std::string links_yaml(const NodeImport& node, const std::string& indent);

/// The `cluster:` section of one such node.
[[nodiscard]] std::string cluster_yaml(const NodeImport& node);

/// NVLink of a GPU, by the number of links or by its compute capability: 0 where there is none.
struct NvlinkGeneration {
  std::string gpu;  ///< a catalogue key of that generation
  std::string transport;
  double bytes_per_s = 0;  ///< one link, one direction
};
[[nodiscard]] NvlinkGeneration nvlink_of_compute_capability(int capability);
[[nodiscard]] NvlinkGeneration nvlink_of_link_count(int links);

/// What NCCL dumps (NCCL_TOPO_DUMP_FILE) or is given: `<system>` of CPUs, PCI trees, GPUs, NICs, NVLinks.
[[nodiscard]] std::variant<NodeImport, ImportProblem> import_nccl_topology(const std::string& path);

}  // namespace trainyard
