#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/units/error.hpp"
#include "topologies/importers/node_import.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20U;

std::string text_of(const std::string& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) throw UserError(file + ": no such file");
  if (std::filesystem::file_size(file, none) > kMostBytes) throw UserError(file + ": larger than 64 MiB");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UserError(file + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

ImportedCluster import_nccl(const std::string& file) {
  auto node = import_nccl_topology(file);
  if (auto* problem = std::get_if<ImportProblem>(&node)) return std::move(*problem);
  return cluster_yaml(std::get<NodeImport>(node));
}

}  // namespace

std::vector<std::string> topology_import_kinds() {
  return {"nccl-topology", "nvidia-smi-topo", "astra-sim", "simai", "simgrid"};
}

std::string import_topology(const std::string& kind, const std::string& file) {
  const std::string text = text_of(file);
  ImportedCluster made;
  if (kind == "nccl-topology") made = import_nccl(file);
  if (kind == "nvidia-smi-topo") made = import_nvidia_smi(text);
  if (kind == "astra-sim") made = import_astra_sim(text);
  if (kind == "simai") made = import_simai(text);
  if (kind == "simgrid") made = import_simgrid(text);
  if (const auto* problem = std::get_if<ImportProblem>(&made)) throw UserError(file + ": " + problem->message);
  require(!std::get<std::string>(made).empty(), "no importer of topologies is called " + kind);
  return "# Imported from " + std::filesystem::path(file).filename().string() + " (" + kind + ").\n" +
         std::get<std::string>(made);
}

}  // namespace trainyard
