#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <pugixml.hpp>

#include "topologies/catalogue.hpp"
#include "topologies/cluster_builder.hpp"
#include "topologies/importers/node_import.hpp"

namespace trainyard {
namespace {

constexpr double kSocketLink = 62.4e9;  // as between the sockets of other nodes
constexpr std::size_t kMostLinks = 100000;
constexpr int kMostDepth = 64;

struct PciRate {
  double bytes_per_s = 0;
  std::string transport;
};

/// GT/s x lanes x 128/130 (8/10 up to 5 GT/s) / 8: PCI Express base specifications.
PciRate pci_rate(const pugi::xml_node& pci) {
  const double transfers = std::strtod(pci.attribute("link_speed").as_string(), nullptr);
  const int lanes = pci.attribute("link_width").as_int();
  const std::string transport = transfers <= 0    ? "pcie4"
                                : transfers <= 8  ? "pcie3"
                                : transfers <= 16 ? "pcie4"
                                                  : "pcie5";
  if (!(transfers > 0 && transfers < 1000 && lanes > 0 && lanes <= 64)) return {31.5e9, transport};
  return {transfers * 1e9 * lanes * (transfers > 5 ? 128.0 / 130 : 0.8) / 8, transport};
}

bool has_class(const pugi::xml_node& pci, std::initializer_list<const char*> prefixes) {
  const std::string name = pci.attribute("class").as_string();
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return name.starts_with(prefix); });
}

/// PCI device numbers of some GPUs: the PCI ID repository.
std::string gpu_of_device(const std::string& device) {
  static const std::map<std::string, std::string> known{{"0x1db1", "V100-SXM2-16GB"}, {"0x1db5", "V100-SXM2-32GB"},
                                                        {"0x20b0", "A100-SXM4-40GB"}, {"0x20b2", "A100-SXM4-80GB"},
                                                        {"0x2330", "H100-SXM5-80GB"}, {"0x1eb8", "T4-16GB"},
                                                        {"0x2237", "A10G-24GB"}};
  const auto found = known.find(device);
  return found == known.end() ? "" : found->second;
}

/// Walks the tree of one `<system>`.
class SystemReader {
 public:
  std::variant<NodeImport, ImportProblem> read(const pugi::xml_node& system) {
    int socket = 0;
    const auto cpus = system.children("cpu");
    const bool several = std::distance(cpus.begin(), cpus.end()) > 1;
    for (const pugi::xml_node& cpu : cpus) {
      const std::string at = several ? fmt::format("socket{}", socket++) : "cpu";
      if (several) link(at, "cpu", {kSocketLink, "host"});
      for (const pugi::xml_node& pci : cpu.children("pci")) attach(pci, at, 1e15, 0);
    }
    if (gpus_.empty())
      return ImportProblem{
          fmt::format("names no GPU: {} NICs and {} PCI devices of unknown class", node_.nics, unknown_)};
    add_nvlinks();
    if (node_.links.size() > kMostLinks) return ImportProblem{"more than 100000 links"};
    finish();
    return std::move(node_);
  }

 private:
  void link(const std::string& a, const std::string& b, const PciRate& rate) {
    node_.links.push_back({a, b, rate.bytes_per_s, 1, rate.transport});
  }

  /// A bridge with one device below is no switch: its device hangs on the bridge's parent, by the slower link.
  void attach(const pugi::xml_node& pci, const std::string& parent, double limit, int depth) {
    PciRate rate = pci_rate(pci);
    rate.bytes_per_s = std::min(rate.bytes_per_s, limit);
    if (depth > kMostDepth) return;
    if (pci.child("gpu") || has_class(pci, {"0x0302", "0x0300"})) return add_gpu(pci, parent, rate);
    if (pci.child("nic") || has_class(pci, {"0x0207", "0x0200"})) return add_nic(pci, parent, rate);
    const auto below = pci.children("pci");
    const auto count = std::distance(below.begin(), below.end());
    if (count == 0) {
      ++unknown_;
      return;
    }
    const std::string at = count == 1 ? parent : fmt::format("switch{}", switches_++);
    if (count > 1) link(at, parent, rate);
    for (const pugi::xml_node& child : below) attach(child, at, count == 1 ? rate.bytes_per_s : 1e15, depth + 1);
  }

  void add_gpu(const pugi::xml_node& pci, const std::string& parent, const PciRate& rate) {
    const std::string name = std::to_string(gpus_.size());
    busids_[pci.attribute("busid").as_string()] = gpus_.size();
    gpus_.push_back(pci);
    link(name, parent, rate);
  }

  void add_nic(const pugi::xml_node& pci, const std::string& parent, const PciRate& rate) {
    double speed = 0;  // Mbit/s
    for (const pugi::xml_node& net : pci.child("nic").children("net"))
      speed = std::max(speed, net.attribute("speed").as_double());
    const double bytes_per_s = speed * 1e6 / 8;
    if (speed > 0 && node_.nic_bytes_per_s > 0 && bytes_per_s != node_.nic_bytes_per_s) unlike_nics_ = true;
    if (node_.nic_bytes_per_s == 0) node_.nic_bytes_per_s = bytes_per_s;
    link(fmt::format("nic{}", node_.nics++), parent, rate);
  }

  void add_nvlinks() {
    std::map<std::pair<std::size_t, std::size_t>, int> pairs;
    const NvlinkGeneration generation = nvlink_of_compute_capability(gpus_[0].child("gpu").attribute("sm").as_int());
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      int ports = 0;
      for (const pugi::xml_node& nvlink : gpus_[g].child("gpu").children("nvlink")) {
        const int count = std::clamp(nvlink.attribute("count").as_int(), 0, 64);
        const auto peer = busids_.find(nvlink.attribute("target").as_string());
        if (peer == busids_.end()) ports += count;
        if (peer != busids_.end() && peer->second > g) pairs[{g, peer->second}] = count;
      }
      if (ports > 0 && generation.bytes_per_s > 0)
        link(std::to_string(g), "nvswitch", {ports * generation.bytes_per_s, generation.transport});
      found_nvlink_ = found_nvlink_ || ports > 0;
    }
    for (const auto& [pair, count] : pairs)
      if (count > 0 && generation.bytes_per_s > 0)
        node_.links.push_back({std::to_string(pair.first), std::to_string(pair.second), generation.bytes_per_s, count,
                               generation.transport});
    found_nvlink_ = found_nvlink_ || !pairs.empty();
    name_gpu(generation);
  }

  void name_gpu(const NvlinkGeneration& generation) {
    node_.gpus = static_cast<int>(gpus_.size());
    node_.gpu = gpu_of_device(gpus_[0].attribute("device").as_string());
    if (node_.gpu.empty()) node_.gpu = generation.gpu;
    if (!node_.gpu.empty()) return;
    node_.gpu = "A100-SXM4-80GB";
    node_.notes.emplace_back("The file does not name its GPUs: A100-SXM4-80GB is assumed, write yours.");
  }

  void finish() {
    const GpuEntry* gpu = catalogue().gpu(node_.gpu);
    if (!found_nvlink_ && gpu != nullptr && gpu->nvlink && node_.gpus > 1) add_catalogue_nvlink(*gpu);
    if (node_.nics > 0 && node_.nic_bytes_per_s == 0)
      node_.notes.emplace_back("The file does not say how fast the NICs are: 100 Gbps is assumed.");
    if (unlike_nics_) node_.notes.emplace_back("The NICs differ in speed: the first one's stands for all.");
  }

  void add_catalogue_nvlink(const GpuEntry& gpu) {
    const NvlinkEntry& nvlink = *gpu.nvlink;
    if (gpu.meshes() && node_.gpus != 4 && node_.gpus != 8) return;
    node_.notes.push_back("The file holds no NVLink: it comes from the GPU catalogue (" + node_.gpu + ").");
    if (gpu.meshes()) {
      for (const MeshPair& pair : mesh_pairs(node_.gpus))
        node_.links.push_back(
            {std::to_string(pair.a), std::to_string(pair.b), nvlink.link.value, pair.links, nvlink.transport});
      return;
    }
    for (int g = 0; g < node_.gpus; ++g)
      link(std::to_string(g), "nvswitch", {nvlink.bandwidth.value, nvlink.transport});
  }

  NodeImport node_;
  std::vector<pugi::xml_node> gpus_;
  std::map<std::string, std::size_t> busids_;
  int switches_ = 0, unknown_ = 0;
  bool found_nvlink_ = false, unlike_nics_ = false;
};

}  // namespace

std::variant<NodeImport, ImportProblem> import_nccl_topology(const std::string& path) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_file(path.c_str());
  if (!result) {
    if (result.status == pugi::status_file_not_found) return ImportProblem{"no such file"};
    return ImportProblem{fmt::format("not XML: {} (at byte {})", result.description(), result.offset)};
  }
  const pugi::xml_node root = document.document_element();
  if (std::string(root.name()) == "graphs")
    return ImportProblem{"holds NCCL's graphs (<graphs>), not a topology (<system>)"};
  if (std::string(root.name()) != "system")
    return ImportProblem{fmt::format("its root is <{}>; an NCCL topology has <system>", root.name())};
  return SystemReader().read(root);
}

}  // namespace trainyard
