#include "topologies/link_list.hpp"

#include <filesystem>

#include "sim/units/error.hpp"
#include "topologies/catalogue.hpp"

namespace trainyard {

using namespace schema;

namespace {

bool network_card(const std::string& transport) {
  return transport == "infiniband" || transport == "roce" || transport == "efa" || transport == "efa2" || transport == "ethernet";
}

ListedLink listed_link(const View& item, const std::string& fallback, Diagnostics& diagnostics) {
  ListedLink link;
  link.a = item["between"].at(0).text();
  link.b = item["between"].at(1).text();
  link.count = static_cast<int>(item["count"].integer_or(1));
  const std::string transport = item["transport"].text_or(fallback);
  if (catalogue().transport(transport) == nullptr) {
    diagnostics.add(item["transport"].place(), unknown_name("transport", transport, catalogue().transport_names()));
    return link;
  }
  const auto rate = item["bandwidth"].quantity<BytesPerSecond>();
  link.kind = catalogue_link(transport, rate);
  link.kind.bandwidth = rate * item["efficiency"].number_or(link.kind.bandwidth / rate);
  link.kind.latency = item["latency"].quantity_or(link.kind.latency);
  if (link.a == link.b) diagnostics.add(item["between"].place(), "a link joins two places, not one with itself");
  return link;
}

}  // namespace

Schema link_list_schema(const std::string& names) {
  const Schema entry =
      object({required("between", list(text(names), between(2, 2), "both ends: " + names)),
              required("bandwidth", quantity(Dimension::bytes_per_second, above(0, 1e14), "one direction of one link")),
              optional("count", integer(between(1, 1024), "parallel links"), "1"),
              optional("latency", quantity(Dimension::seconds, between(0, 10), "of one link")),
              optional("efficiency", number(above(0, 1), "share of the bandwidth that bulk traffic reaches")),
              optional("transport", text("class of the link, a key of the catalogue of transports"))},
             "links between two places, each way");
  return list(entry, between(1, 1000000), "links written out");
}

std::vector<ListedLink> listed_links(const View& list, const std::string& transport, Diagnostics& diagnostics) {
  std::vector<ListedLink> links;
  for (std::size_t i = 0; i < list.size(); ++i) links.push_back(listed_link(list.at(i), transport, diagnostics));
  return links;
}

std::vector<SchemaField> link_fields() {
  const auto time = [](std::string help) { return quantity(Dimension::seconds, between(0, 10), std::move(help)); };
  return {optional("latency", time("of one link, beyond what setup and step contain"), "0 s"),
          optional("efficiency", number(above(0, 1), "share of the rate that bulk traffic reaches")),
          optional("setup", time("fixed time of a collective or transfer")),
          optional("step", time("each further member of a collective")),
          optional("ramp", time("c of x + sqrt(x c), x the time on the wire"))};
}

LinkClass link_class(const TransportEntry& entry, BytesPerSecond nominal, const View& over,
                     const std::string& own_name) {
  LinkClass made{entry.transport, nominal, nominal * entry.efficiency_at(nominal), entry.latency};
  if (!over || !over.is_map()) return made;
  made.bandwidth = nominal * over["efficiency"].number_or(entry.efficiency_at(nominal));
  made.latency = over["latency"].quantity_or(entry.latency);
  if (!over["setup"] && !over["step"] && !over["ramp"]) return made;
  made.transport.name = own_name;
  made.transport.setup = over["setup"].quantity_or(entry.transport.setup);
  made.transport.step = over["step"].quantity_or(entry.transport.step);
  made.transport.ramp = over["ramp"].quantity_or(entry.transport.ramp);
  // What the scenario says holds for collectives too.
  made.transport.ring = made.transport.tree = made.transport.exchange = std::nullopt;
  return made;
}

const TransportEntry& known_transport(const std::string& name) {
  const TransportEntry* entry = catalogue().transport(name);
  require(entry != nullptr, "no transport " + name + " in the catalogue");
  return *entry;
}

LinkClass catalogue_link(const std::string& transport, BytesPerSecond nominal) {
  const TransportEntry& entry = known_transport(transport);
  LinkClass made{entry.transport, nominal, nominal * entry.efficiency_at(nominal), entry.latency};
  if (network_card(transport) && made.transport.family.empty()) made.transport.family = transport;
  return made;
}

LinkClass measured_link(const std::string& transport, BytesPerSecond rate, Seconds latency) {
  LinkClass made = catalogue_link(transport, rate);
  made.bandwidth = rate;
  made.latency = latency;
  return made;
}

ConfigValue read_part(const std::string& directory, const View& file, const Schema& schema, Diagnostics& diagnostics) {
  const std::string path = (std::filesystem::path(directory) / file.text()).string();
  if (!std::filesystem::is_regular_file(path)) {
    diagnostics.add(file.place(), "no file " + path);
    return {};
  }
  const std::size_t before = diagnostics.all().size();
  ConfigValue value = read_yaml_file(path, diagnostics);
  if (diagnostics.all().size() == before) check(value, schema, diagnostics);
  return diagnostics.all().size() == before ? value : ConfigValue{};
}

}  // namespace trainyard
