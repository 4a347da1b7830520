#include "topologies/catalogue_reader.hpp"

#include <set>

namespace trainyard {
namespace {

/// Reads and checks one file; an empty value where it is wrong.
ConfigValue checked(const CatalogueFile& file, const Schema& schema, Diagnostics& diagnostics) {
  Diagnostics own;
  ConfigValue root = read_yaml_text(file.text, file.path, own);
  if (own.empty()) check(root, schema, own);
  for (const Diagnostic& mistake : own.all()) diagnostics.add(mistake.place, mistake.message);
  return own.empty() ? root : ConfigValue{};
}

/// Refuses a name or alias that stands twice.
class Names {
 public:
  explicit Names(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  template <class Entry>
  void add(const Entry& entry, const SourcePlace& place) {
    add_one(entry_name(entry), place);
    for (const std::string& alias : entry_aliases(entry)) add_one(alias, place);
  }

 private:
  void add_one(const std::string& name, const SourcePlace& place) {
    if (!seen_.insert(name).second) diagnostics_.add(place, "the name \"" + name + "\" is taken already");
  }
  std::set<std::string> seen_;
  Diagnostics& diagnostics_;
};

void refer(bool known, std::string_view what, const View& name, const std::vector<std::string>& names,
           Diagnostics& diagnostics) {
  if (!known) diagnostics.add(name.place(), unknown_name(what, name.text(), names));
}

void read_transports(const View& list, Catalogue& into, Diagnostics& diagnostics) {
  Names names(diagnostics);
  for (std::size_t i = 0; i < list.size(); ++i) {
    into.transports.push_back(transport_entry(list.at(i)));
    names.add(into.transports.back(), list.at(i).place());
  }
}

void read_gpus(const View& list, const View& fits, Names& names, Catalogue& into, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const View item = list.at(i);
    into.gpus.push_back(gpu_entry(item, fits, diagnostics));
    names.add(into.gpus.back(), item.place());
    refer(into.transport(item["pcie"].text()) != nullptr, "transport", item["pcie"], into.transport_names(),
          diagnostics);
    if (const View nvlink = item["nvlink"]["transport"])
      refer(into.transport(nvlink.text()) != nullptr, "transport", nvlink, into.transport_names(), diagnostics);
  }
}

void read_instances(const View& list, Names& names, Catalogue& into, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const View item = list.at(i);
    into.instances.push_back(instance_entry(item));
    names.add(into.instances.back(), item.place());
    refer(into.gpu(item["gpu"].text()) != nullptr, "GPU", item["gpu"], into.gpu_names(), diagnostics);
    refer(into.transport(item["transport"].text()) != nullptr, "transport", item["transport"], into.transport_names(),
          diagnostics);
  }
}

std::vector<ConfigValue> all_checked(const std::vector<CatalogueFile>& files, const Schema& schema,
                                     Diagnostics& diagnostics) {
  std::vector<ConfigValue> roots;
  for (const CatalogueFile& file : files) roots.push_back(checked(file, schema, diagnostics));
  return roots;
}

}  // namespace

Catalogue read_catalogue(const CatalogueTexts& texts, Diagnostics& diagnostics) {
  const ConfigValue transports = checked(texts.transports, transport_file_schema(), diagnostics);
  const ConfigValue fits = checked(texts.fits, fit_file_schema(), diagnostics);
  const std::vector<ConfigValue> gpus = all_checked(texts.gpus, gpu_file_schema(), diagnostics);
  const std::vector<ConfigValue> instances = all_checked(texts.instances, instance_file_schema(), diagnostics);
  Catalogue read;
  if (!diagnostics.empty()) return read;
  read_transports(View(transports)["transports"], read, diagnostics);
  Names gpu_names(diagnostics), instance_names(diagnostics);
  for (const ConfigValue& file : gpus) read_gpus(View(file)["gpus"], View(fits)["fits"], gpu_names, read, diagnostics);
  for (const ConfigValue& file : instances) read_instances(View(file)["instances"], instance_names, read, diagnostics);
  return read;
}

}  // namespace trainyard
