#include "topologies/catalogue.hpp"

#include "topologies/catalogue_reader.hpp"

namespace trainyard {

std::string_view topologies_gpu_fits();
std::string_view topologies_gpus();
std::string_view topologies_gpus_workstation();
std::string_view topologies_gpus_other();
std::string_view topologies_instances();
std::string_view topologies_instances_gcp_azure();
std::string_view topologies_transports();

namespace {

template <class Entry>
const Entry* named(const std::vector<Entry>& entries, std::string_view wanted) {
  for (const Entry& entry : entries) {
    if (entry_name(entry) == wanted) return &entry;
    for (const std::string& alias : entry_aliases(entry))
      if (alias == wanted) return &entry;
  }
  return nullptr;
}

template <class Entry>
std::vector<std::string> all_names(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.push_back(entry_name(entry));
    for (const std::string& alias : entry_aliases(entry)) names.push_back(alias);
  }
  return names;
}

}  // namespace

double TransportEntry::efficiency_at(BytesPerSecond nominal) const {
  return fast_from.value > 0 && nominal >= fast_from ? fast_efficiency : efficiency;
}

std::string GpuEntry::default_inside(int gpus) const {
  if (gpus == 1 || !nvlink) return "pcie";
  if (!meshes()) return "nvswitch";
  return gpus == 4 || gpus == 8 ? "nvlink_mesh" : "pcie";
}

const std::optional<PriceEntry>& InstanceEntry::price(MarketKind market) const {
  switch (market) {
    case MarketKind::spot:
      return spot;
    case MarketKind::reserved:
      return reserved;
    case MarketKind::on_demand:
      break;
  }
  return on_demand;
}

const TransportEntry* Catalogue::transport(std::string_view name) const { return named(transports, name); }
const GpuEntry* Catalogue::gpu(std::string_view name) const { return named(gpus, name); }
const InstanceEntry* Catalogue::instance(std::string_view name) const { return named(instances, name); }
std::vector<std::string> Catalogue::transport_names() const { return all_names(transports); }
std::vector<std::string> Catalogue::gpu_names() const { return all_names(gpus); }
std::vector<std::string> Catalogue::instance_names() const { return all_names(instances); }

CatalogueTexts embedded_catalogue() {
  const auto file = [](const char* name, std::string_view text) {
    return CatalogueFile{std::string("topologies/") + name, std::string(text)};
  };
  return {{file("gpus.yaml", topologies_gpus()), file("gpus_workstation.yaml", topologies_gpus_workstation()),
           file("gpus_other.yaml", topologies_gpus_other())},
          {file("instances.yaml", topologies_instances()),
           file("instances_gcp_azure.yaml", topologies_instances_gcp_azure())},
          file("gpu_fits.yaml", topologies_gpu_fits()),
          file("transports.yaml", topologies_transports())};
}

const Catalogue& catalogue() {
  static const Catalogue kCatalogue = [] {
    Diagnostics diagnostics;
    Catalogue read = read_catalogue(embedded_catalogue(), diagnostics);
    diagnostics.throw_if_any();
    return read;
  }();
  return kCatalogue;
}

}  // namespace trainyard
