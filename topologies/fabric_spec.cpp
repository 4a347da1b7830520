// The words and keys of `fabric:`.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topologies/fabric.hpp"
#include "topologies/rate_matrix.hpp"

namespace trainyard {

using namespace schema;

namespace {

struct KindInfo {
  const char* name;
  FabricKind kind;
  std::vector<const char*> keys;  ///< besides kind, latency, transport, measured
};

const std::vector<KindInfo>& kinds() {
  static const std::vector<KindInfo> all{
      {"star", FabricKind::star, {}},
      {"fat_tree", FabricKind::fat_tree, {"leaf", "oversubscription", "pods"}},
      {"rail", FabricKind::rail, {"leaf", "oversubscription"}},
      {"rail_only", FabricKind::rail_only, {}},
      {"dragonfly", FabricKind::dragonfly, {"leaf", "group", "bandwidth", "global_bandwidth"}},
      {"torus", FabricKind::torus, {"shape", "wrap", "bandwidth"}},
      {"regions", FabricKind::regions, {"leaf", "oversubscription", "matrix", "wan", "per_node"}},
      {"links", FabricKind::listed, {"links"}}};
  return all;
}

const KindInfo* kind_info(const std::string& name) {
  const auto found = std::find_if(kinds().begin(), kinds().end(), [&](const KindInfo& k) { return name == k.name; });
  return found == kinds().end() ? nullptr : &*found;
}

constexpr std::array kOwnKeys{"leaf", "oversubscription", "pods", "group",    "bandwidth", "global_bandwidth", "shape",
                              "wrap", "matrix",           "wan",  "per_node", "links"};

Schema time_schema(std::string help) { return quantity(Dimension::seconds, between(0, 10), std::move(help)); }
Schema rate_schema(std::string help) { return quantity(Dimension::bytes_per_second, above(0, 1e14), std::move(help)); }

Schema way_schema() {
  return object({required("between", list(text("region"), between(2, 2), "two regions")),
                 required("bandwidth", rate_schema("that bulk traffic reaches, each way")),
                 required("latency", time_schema("of one message"))},
                "the way between two regions");
}

Schema measured_schema() {
  const Schema one = object({required("link", text("name, as in `explain --dot`: FROM>TO")),
                             required("bandwidth", rate_schema("that bulk traffic reaches")),
                             optional("latency", time_schema("of one message"))},
                            "a link that differs from what its kind says");
  return one_of({text("FILE of a square matrix of Gbps between the nodes, instead of a star's switch"),
                 list(one, between(1, 1000000), "links whose rate was measured")},
                "rates that differ from the nominal ones");
}

Schema changes_schema() {
  const Schema one = object(
      {optional("link", text("name, as in `explain --dot`: FROM>TO, one direction")),
       optional("between", list(text("end of the links: a device, a NIC or a switch"), between(2, 2), "instead of link: both directions")),
       optional("at", quantity(Dimension::seconds, between(0, 1e8), "after the start of the first step that is simulated"), "0 s"),
       required("factor", number(between(0, 1000), "of its bandwidth from then on; 0: the link is dead"))},
      "a link whose bandwidth changes");
  return list(one, between(1, 1000000), "bandwidths that change while steps run, or differ from the start");
}

/// Reads one section; a ready-made fabric's keys stand where the section has none.
class FabricReader {
 public:
  FabricReader(const View& section, const std::string& directory, Diagnostics& diagnostics)
      : section_(section), directory_(directory), diagnostics_(diagnostics) {}

  std::optional<FabricSpec> read() {
    const std::size_t before = diagnostics_.all().size();
    spec_.place = section_.place();
    read_import();
    if (diagnostics_.all().size() == before && read_kind()) {
      read_sizes();
      read_grid();
      read_regions();
      if (const View links = key("links")) spec_.listed = listed_links(links, transport_or_default(), diagnostics_);
      read_measured();
      read_changes();
    }
    if (diagnostics_.all().size() > before) return std::nullopt;
    return spec_;
  }

 private:
  void fail(const View& where, std::string why) { diagnostics_.add(where.place(), std::move(why)); }

  [[nodiscard]] View key(std::string_view name) const {
    for (const View& from : {section_, imported_, base_})
      if (from)
        if (const View found = from[name]) return found;
    return {};
  }

  [[nodiscard]] std::string transport_or_default() const {
    return spec_.transport.empty() ? "infiniband" : spec_.transport;
  }

  void read_import() {
    const View file = section_["import"];
    if (!file) return;
    if (file.text().ends_with(".xml"))
      return fail(file, "an XML file is no fabric: `trainyard import simgrid " + file.text() + "` makes one of it");
    part_ = read_part(directory_, file, fabric_schema(ready_made_names()), diagnostics_);
    if (part_.kind == ConfigValue::Kind::map) imported_ = View(part_);
    if (imported_ && imported_["import"]) fail(file, "an imported fabric may not import another");
  }

  bool read_kind() {
    const View kind = key("kind");
    std::string word = kind ? kind.text() : key("links") ? "links" : "";
    if (word.empty()) return fail(section_, "needs a kind, such as star or fat_tree"), false;
    if (const ConfigValue* named = ready_made(word)) {
      spec_.name = word;
      base_ = View(*named);
      word = base_["kind"].text();
    }
    info_ = kind_info(word);
    if (info_ == nullptr) return fail(kind, unknown_name("fabric kind", word, all_names())), false;
    spec_.kind = info_->kind;
    for (const char* name : kOwnKeys)
      if (const View found = key(name); found && std::ranges::find(info_->keys, std::string(name)) == info_->keys.end())
        fail(found, fmt::format("a {} has no {}", word, name));
    return true;
  }

  [[nodiscard]] static std::vector<std::string> all_names() {
    std::vector<std::string> names;
    for (const KindInfo& info : kinds()) names.emplace_back(info.name);
    for (const std::string& name : ready_made_names()) names.push_back(name);
    return names;
  }

  void read_sizes() {
    spec_.leaf = static_cast<int>(key("leaf").integer_or(0));
    spec_.oversubscription = key("oversubscription").number_or(1);
    if (const View pods = key("pods")) {
      spec_.pod_leaves = static_cast<int>(pods["leaves"].integer());
      spec_.pod_oversubscription = pods["oversubscription"].number_or(1);
    }
    if (const View latency = key("latency")) spec_.latency = latency.quantity<Seconds>();
    spec_.transport = key("transport").text_or("");
    if (spec_.kind == FabricKind::fat_tree && spec_.leaf == 0)
      fail(section_, "fat_tree needs leaf: how many nodes are under one leaf switch");
  }

  void read_grid() {
    if (const View rate = key("bandwidth")) spec_.rate = rate.quantity<BytesPerSecond>();
    if (const View rate = key("global_bandwidth")) spec_.global_rate = rate.quantity<BytesPerSecond>();
    spec_.wrap = key("wrap").boolean_or(true);
    spec_.group = static_cast<int>(key("group").integer_or(0));
    const View shape = key("shape");
    for (std::size_t d = 0; shape && d < shape.size(); ++d)
      spec_.shape.push_back(static_cast<int>(shape.at(d).integer()));
    if (spec_.kind == FabricKind::torus && !shape) fail(section_, "torus needs shape, such as [4, 4, 4]");
    if (spec_.kind == FabricKind::dragonfly && (spec_.leaf == 0 || spec_.group == 0))
      fail(section_, "dragonfly needs leaf, the nodes on one router, and group, the routers of one group");
  }

  [[nodiscard]] static WideArea way_of(const View& item) {
    return {item["bandwidth"].quantity<BytesPerSecond>(), item["latency"].quantity<Seconds>()};
  }

  void read_regions() {
    spec_.per_node = key("per_node").boolean_or(false);
    if (const View wan = key("wan")) spec_.wide_area_default = way_of(wan);
    const View matrix = key("matrix");
    for (std::size_t i = 0; matrix && i < matrix.size(); ++i) {
      const View item = matrix.at(i);
      std::string a = item["between"].at(0).text(), b = item["between"].at(1).text();
      if (a == b) fail(item, "a way joins two regions, not \"" + a + "\" with itself");
      if (b < a) std::swap(a, b);
      if (!spec_.wide_area.emplace(RegionPair{a, b}, way_of(item)).second)
        fail(item, "the way between " + a + " and " + b + " is given twice");
    }
    if (spec_.kind == FabricKind::regions && !matrix && !spec_.wide_area_default)
      fail(section_, "regions needs matrix, ways between regions, or wan, the same for all");
    if (spec_.kind == FabricKind::regions && spec_.per_node && spec_.leaf > 0)
      fail(key("leaf"), "leaf and per_node exclude each other");
  }

  void read_measured() {
    const View measured = key("measured");
    if (!measured) return;
    if (measured.is_list()) {
      for (std::size_t i = 0; i < measured.size(); ++i) {
        const View item = measured.at(i);
        MeasuredLink link{item["link"].text(), item["bandwidth"].quantity<BytesPerSecond>(), {}, item.place()};
        if (const View latency = item["latency"]) link.latency = latency.quantity<Seconds>();
        spec_.measured.push_back(std::move(link));
      }
      return;
    }
    if (spec_.kind != FabricKind::star)
      return fail(measured, "a matrix of measured rates takes the place of a star's switch: kind must be star");
    spec_.kind = FabricKind::matrix;
    spec_.matrix = read_rate_matrix(directory_, measured, diagnostics_);
  }

  void read_changes() {
    const View changes = key("changes");
    for (std::size_t i = 0; changes && i < changes.size(); ++i) {
      const View item = changes.at(i), link = item["link"], between = item["between"];
      if (bool(link) == bool(between)) {
        fail(item, "a change names a link, or between, the two ends of links both ways");
        continue;
      }
      TimedChange change{link ? link.text() : "", "", item["at"].quantity_or(Seconds(0)), item["factor"].number(), item.place()};
      if (between) {
        change.link = between.at(0).text() + ">" + between.at(1).text();
        change.back = between.at(1).text() + ">" + between.at(0).text();
      }
      spec_.changes.push_back(std::move(change));
    }
  }

  View section_, imported_, base_;
  ConfigValue part_;
  const std::string& directory_;
  Diagnostics& diagnostics_;
  const KindInfo* info_ = nullptr;
  FabricSpec spec_;
};

}  // namespace

Schema fabric_schema(const std::vector<std::string>& ready_made) {
  std::vector<std::string> words;
  for (const KindInfo& info : kinds()) words.emplace_back(info.name);
  words.insert(words.end(), ready_made.begin(), ready_made.end());
  const Schema pods = object(
      {required("leaves", integer(between(1, 100000), "leaf switches of one pod")),
       optional("oversubscription", number(above(0, 1000), "bandwidth below a pod's switches over that above"), "1")},
      "fat_tree: a third tier");
  const Schema wan = object({required("bandwidth", rate_schema("that bulk traffic reaches")),
                             required("latency", time_schema("of one message"))},
                            "regions: the way between any two that matrix does not name");
  return object(
      {optional("kind", choice(words, "shape, or the name of a ready-made fabric, whose keys may be replaced here")),
       optional("import", text("FILE that holds these keys")),
       optional("leaf", integer(between(1, 100000),
                                "nodes under one leaf switch (fat_tree, regions) or set of rail switches (rail; "
                                "default: all), on one router (dragonfly)")),
       optional(
           "oversubscription",
           number(above(0, 1000), "fat_tree, rail, regions: bandwidth below a leaf switch over bandwidth above it"),
           "1"),
       optional("pods", pods), optional("group", integer(between(1, 10000), "dragonfly: routers of one group")),
       optional("shape", list(integer(between(1, 100000), "routers"), between(1, 4), "torus: routers along each axis")),
       optional("wrap", boolean("torus: rows are rings"), "true"),
       optional("bandwidth",
                rate_schema("dragonfly, torus: nominal, of a link between routers; default: a node's NICs together")),
       optional("global_bandwidth",
                rate_schema("dragonfly: nominal, between two groups; default: a group's NICs over the other groups")),
       optional("matrix", list(way_schema(), between(1, 100000), "regions: ways between them")), optional("wan", wan),
       optional("per_node", boolean("regions: every node has the way's bandwidth for itself; else nodes share it"),
                "false"),
       optional("links", link_list_schema("GROUP.NODE.nicN or the name of a switch")),
       optional("measured", measured_schema()), optional("changes", changes_schema()),
       optional("latency", time_schema("of one link between switches or to a NIC"), "0 s"),
       optional("transport", transport_schema())},
      "what joins the nodes; default: a star");
}

std::optional<FabricSpec> fabric_spec(const View& section, const std::string& directory, Diagnostics& diagnostics) {
  if (!section) return FabricSpec{};
  return FabricReader(section, directory, diagnostics).read();
}

}  // namespace trainyard
