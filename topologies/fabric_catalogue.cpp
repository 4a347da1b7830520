// Fabrics as people read them, and those that have a name.
#include <fmt/format.h>

#include <string_view>

#include "topologies/fabric.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {

using namespace schema;

std::string_view topologies_fabrics();

namespace {

/// The file, read and checked at the first call.
const ConfigValue& file() {
  static const ConfigValue document = [] {
    Diagnostics diagnostics;
    ConfigValue read = read_yaml_text(std::string(topologies_fabrics()), "topologies/fabrics.yaml", diagnostics);
    const Schema entry =
        object({required("name", text("key")), required("summary", text("one line")),
                required("source", text("where it comes from")), required("fabric", fabric_schema({}))},
               "a fabric");
    diagnostics.throw_if_any();
    check(read, object({required("fabrics", list(entry, between(1, 1000), "fabrics"))}, "ready-made fabrics"),
          diagnostics);
    diagnostics.throw_if_any();
    return read;
  }();
  return document;
}

std::string keys_text(const View& fabric) {
  std::string text;
  for (const std::string& key : fabric.keys()) {
    if (key == "matrix") {
      text += fmt::format("  matrix: {} pairs of regions\n", fabric[key].size());
      for (std::size_t i = 0; i < fabric[key].size(); ++i) {
        const View way = fabric[key].at(i);
        text += fmt::format("    {} - {}: {}, {}\n", way["between"].at(0).text(), way["between"].at(1).text(),
                            way["bandwidth"].text(), way["latency"].text());
      }
    } else if (fabric[key].is_scalar()) {
      text += fmt::format("  {}: {}\n", key, fabric[key].value().scalar);
    } else if (fabric[key].is_map()) {
      text += fmt::format("  {}:", key);
      for (const std::string& inner : fabric[key].keys())
        text += fmt::format(" {} {}", inner, fabric[key][inner].value().scalar);
      text += "\n";
    }
  }
  return text;
}

std::vector<CatalogueEntry> shapes() {
  const std::string common = "also: latency, transport, measured\n";
  return {{"star",
           {},
           "all NICs at one switch that never limits",
           common + "measured: FILE puts links of measured rates between every two nodes in the switch's place.\n"},
          {"fat_tree",
           {},
           "leaf switches under one core, or under pods",
           "keys: leaf (nodes under a leaf), oversubscription, pods {leaves, oversubscription}\n" + common +
               "The up-links of a leaf are one link of leaf x a node's NICs / oversubscription.\n"},
          {"rail",
           {},
           "NIC i of every node at rail switch i, rails joined by a spine",
           "keys: leaf (nodes to a set of rail switches), oversubscription\n" + common},
          {"rail_only", {}, "rails without a spine: from rail to rail over NVLink inside the sender's node", common},
          {"dragonfly",
           {},
           "groups of routers, all joined inside a group, one link between every two groups",
           "keys: leaf (nodes on a router), group (routers), bandwidth, global_bandwidth\n" + common +
               "Routes are minimal.\n"},
          {"torus",
           {},
           "routers of one node in a grid of 1 to 4 dimensions",
           "keys: shape, wrap, bandwidth\n" + common + "Nodes fill it in order, the last axis fastest.\n"},
          {"regions",
           {},
           "regions joined by a wide-area network, inside each a star, or leaves",
           "keys: matrix, wan, per_node, leaf, oversubscription\n" + common +
               "Nodes say which region. Between regions only TCP is spoken.\n"},
          {"links", {}, "every link written out", "keys: links\n" + common + "Importers write these.\n"}};
}

}  // namespace

std::vector<std::string> ready_made_names() {
  std::vector<std::string> names;
  const View list = View(file())["fabrics"];
  for (std::size_t i = 0; i < list.size(); ++i) names.push_back(list.at(i)["name"].text());
  return names;
}

const ConfigValue* ready_made(const std::string& name) {
  const View list = View(file())["fabrics"];
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list.at(i)["name"].text() == name) return &list.at(i)["fabric"].value();
  return nullptr;
}

std::vector<CatalogueEntry> fabric_catalogue() {
  std::vector<CatalogueEntry> all = shapes();
  const View list = View(file())["fabrics"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const View item = list.at(i);
    all.push_back({item["name"].text(),
                   {},
                   item["summary"].text(),
                   keys_text(item["fabric"]) + "source: " + item["source"].text() + "\n"});
  }
  return all;
}

}  // namespace trainyard
