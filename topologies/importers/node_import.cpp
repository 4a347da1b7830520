#include "topologies/importers/node_import.hpp"

#include <fmt/format.h>

namespace trainyard {

// Links and rates of the generations: NVIDIA's architecture white papers of P100, V100, A100, H100 and Blackwell.
NvlinkGeneration nvlink_of_compute_capability(int capability) {
  if (capability >= 100) return {"B200-SXM-180GB", "nvlink5", 50e9};
  if (capability >= 90) return {"H100-SXM5-80GB", "nvlink4", 25e9};
  if (capability == 80) return {"A100-SXM4-80GB", "nvlink3", 25e9};
  if (capability >= 70 && capability < 75) return {"V100-SXM2-16GB", "nvlink2", 25e9};
  if (capability == 60) return {"P100-SXM2-16GB", "nvlink1", 20e9};
  return {};
}

NvlinkGeneration nvlink_of_link_count(int links) {
  if (links > 12) return nvlink_of_compute_capability(90);
  if (links > 6) return nvlink_of_compute_capability(80);
  return nvlink_of_compute_capability(70);
}

std::string links_yaml(const NodeImport& node, const std::string& indent) {
  std::string text = indent + "links:\n";
  for (const ImportedLink& link : node.links)
    text += fmt::format("{}  - {{between: [\"{}\", \"{}\"], bandwidth: {:.6g} GB/s{}, transport: {}}}\n", indent,
                        link.a, link.b, link.bytes_per_s * 1e-9,
                        link.count > 1 ? fmt::format(", count: {}", link.count) : "", link.transport);
  return text;
}

std::string cluster_yaml(const NodeImport& node) {
  std::string text;
  for (const std::string& note : node.notes) text += "# " + note + "\n";
  text += fmt::format("cluster:\n  nodes:\n    - name: imported\n      gpu: {}\n      gpus_per_node: {}\n", node.gpu,
                      node.gpus);
  if (node.nics > 0)
    text += fmt::format("      nics: {}\n      nic: {:.6g} Gbps\n", node.nics,
                        (node.nic_bytes_per_s > 0 ? node.nic_bytes_per_s : 12.5e9) * 8e-9);
  return text + "      inside:\n" + links_yaml(node, "        ");
}

}  // namespace trainyard
