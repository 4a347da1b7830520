// What joins the GPUs of a node: the words and keys of `inside:`.
#include <algorithm>
#include <filesystem>
#include <variant>

#include "topologies/catalogue_reader.hpp"
#include "topologies/importers/node_import.hpp"
#include "topologies/node_spec.hpp"

namespace trainyard {

using namespace schema;

namespace {

constexpr const char* kPlaces = "GPU number, nicN, cpu or the name of a switch";
const std::vector<std::string> kInsides{"nvswitch", "nvlink_mesh", "pcie", "infinity_fabric", "hccs", "nvl72"};

bool is_file(const std::string& word) { return word.find_first_of("./") != std::string::npos; }

Schema part_schema() { return object({required("links", link_list_schema(kPlaces))}, "links of one node"); }

/// Reads one `inside:` for a node whose GPU and counts are known.
class InsideReader {
 public:
  InsideReader(const View& item, const std::string& directory, NodeSpec& spec, Diagnostics& diagnostics)
      : item_(item), directory_(directory), spec_(spec), diagnostics_(diagnostics) {}

  void read(std::string word) {
    const View inside = item_["inside"];
    if (inside && inside.is_map()) options_ = inside;
    if (options_ && options_["links"]) return read_links(options_["links"]);
    const View kind = options_ ? options_["kind"] : inside;
    if (options_ && !kind) return fail(options_, "needs kind or links");
    if (kind && is_file(kind.text())) return read_file(kind);
    if (kind) word = kind.text();
    if (word.empty()) word = spec_.gpu->default_inside(spec_.gpus);
    spec_.nics = std::min(spec_.nics, spec_.gpus);
    const std::size_t before = diagnostics_.all().size();
    const auto known = inside_kind(word, kind ? kind : item_);
    if (!known) return;
    read_tree();
    if (diagnostics_.all().size() == before) set_inside(*known);
  }

 private:
  void fail(const View& where, std::string why) { diagnostics_.add(where.place(), std::move(why)); }

  [[nodiscard]] std::string gpus_text() const { return std::to_string(spec_.gpus) + " x " + spec_.gpu->type.name; }

  std::optional<InsideKind> inside_kind(const std::string& word, const View& where) {
    if (word == "pcie") return InsideKind::pcie;
    if (word == "nvswitch" || word == "nvl72") return with_nvlink(word, where);
    if (word == "infinity_fabric") return full_mesh("xgmi", "Infinity Fabric", "MI300X", where);
    if (word == "hccs") return full_mesh("hccs", "HCCS", "Ascend-910B-64GB", where);
    if (word != "nvlink_mesh") {
      fail(where, unknown_name("inside", word, kInsides));
      return std::nullopt;
    }
    if (spec_.gpu->meshes() && (spec_.gpus == 4 || spec_.gpus == 8)) return InsideKind::nvlink_mesh;
    fail(where, "inside nvlink_mesh needs 4 or 8 GPUs with NVLink from GPU to GPU, such as V100-SXM2-16GB, not " +
                    gpus_text());
    return std::nullopt;
  }

  std::optional<InsideKind> with_nvlink(const std::string& word, const View& where) {
    if (spec_.gpu->nvlink) return word == "nvl72" ? InsideKind::domain : InsideKind::nvswitch;
    fail(where, "inside " + word + " needs NVLink, which " + spec_.gpu->type.name + " lacks; use pcie");
    return std::nullopt;
  }

  std::optional<InsideKind> full_mesh(const char* transport, const char* links, const char* example,
                                      const View& where) {
    const bool has = spec_.gpu->nvlink && spec_.gpu->nvlink->transport == transport;
    if (has && spec_.gpus >= 2 && spec_.gpus <= 8) return InsideKind::full_mesh;
    fail(where,
         std::string("a full mesh needs 2 to 8 GPUs with ") + links + ", such as " + example + ", not " + gpus_text());
    return std::nullopt;
  }

  void read_tree() {
    if (!options_) return;
    const View switches = options_["switches"];
    if (switches && options_["gpus_per_switch"])
      return fail(switches, "switches and gpus_per_switch say the same: leave one out");
    spec_.gpus_per_switch = static_cast<int>(options_["gpus_per_switch"].integer_or(2));
    spec_.domain_nodes = static_cast<int>(options_["domain"].integer_or(18));
    if (switches) spec_.gpus_per_switch = std::max(1, spec_.gpus / static_cast<int>(switches.integer()));
    if (switches && spec_.switches() != switches.integer())
      return fail(switches, std::to_string(spec_.gpus) + " GPUs and " + std::to_string(spec_.nics) +
                                " NICs do not divide evenly over " + std::to_string(switches.integer()) + " switches");
    const View sockets = options_["sockets"];
    if (!sockets) return;
    spec_.given_sockets = static_cast<int>(sockets.integer());
    if (sockets.integer() > spec_.switches())
      fail(sockets, "more sockets than the " + std::to_string(spec_.switches()) + " PCIe switches that hang on them");
  }

  void set_inside(InsideKind kind) {
    spec_.inside = kind;
    const std::string own = spec_.name + ".inside";
    const View slot_over = kind == InsideKind::pcie ? options_ : View();
    spec_.pcie = link_class(known_transport(spec_.gpu->pcie), written(slot_over, slot_rate()), slot_over, own);
    set_bridge();
    if (kind == InsideKind::pcie) return;
    const NvlinkEntry& nvlink = *spec_.gpu->nvlink;
    BytesPerSecond one = nvlink.bandwidth;
    if (kind == InsideKind::nvlink_mesh) one = nvlink.link;
    if (kind == InsideKind::full_mesh) one = nvlink.bandwidth / 7.0;
    spec_.direct = link_class(known_transport(nvlink.transport), written(options_, one), options_, own);
  }

  /// As wide as a slot; what peers make of it is another matter.
  void set_bridge() {
    const bool staged = options_ && options_["staged_peers"].boolean_or(false);
    const TransportEntry* known = catalogue().transport(spec_.gpu->pcie + (staged ? "_staged" : "_bridge"));
    if (staged && known == nullptr) return fail(options_["staged_peers"], "staging is measured on PCIe 4 alone, and not on " + spec_.gpu->pcie);
    spec_.bridge = spec_.pcie;
    if (known != nullptr) spec_.bridge.transport = known->transport;
  }

  static BytesPerSecond written(const View& over, BytesPerSecond fallback) {
    return over ? over["bandwidth"].quantity_or(fallback) : fallback;
  }

  /// 16 lanes, one direction: PCI Express base specifications 3.0, 4.0, 5.0.
  [[nodiscard]] BytesPerSecond slot_rate() const {
    if (spec_.gpu->pcie == "pcie3") return BytesPerSecond(15.75e9);
    return BytesPerSecond(spec_.gpu->pcie == "pcie4" ? 31.5e9 : 63e9);
  }

  void read_file(const View& file) {
    if (file.text().ends_with(".xml")) return read_xml(file);
    const ConfigValue part = read_part(directory_, file, part_schema(), diagnostics_);
    if (part.kind == ConfigValue::Kind::map) read_links(View(part)["links"]);
  }

  void read_xml(const View& file) {
    const auto node = import_nccl_topology((std::filesystem::path(directory_) / file.text()).string());
    if (const auto* wrong = std::get_if<ImportProblem>(&node)) return fail(file, file.text() + ": " + wrong->message);
    Diagnostics inner;
    const std::string yaml = links_yaml(std::get<NodeImport>(node), "");
    const ConfigValue part = read_yaml_text(yaml, file.text(), inner);
    inner.throw_if_any();
    read_links(View(part)["links"]);
  }

  void read_links(const View& list) {
    spec_.inside = InsideKind::listed;
    spec_.given_sockets = 1;
    spec_.pcie = link_class(known_transport(spec_.gpu->pcie), slot_rate(), {}, "");
    spec_.bridge = spec_.pcie;
    spec_.listed = listed_links(list, spec_.gpu->pcie, diagnostics_);
    check_listed(list);
  }

  void check_listed(const View& list) {
    const auto listed = [&](const std::string& place) {
      return std::any_of(spec_.listed.begin(), spec_.listed.end(),
                         [&](const ListedLink& link) { return link.a == place || link.b == place; });
    };
    for (std::size_t i = 0; i < spec_.listed.size() && i < list.size(); ++i)
      for (const std::string& place : {spec_.listed[i].a, spec_.listed[i].b}) check_place(place, list.at(i));
    for (int g = 0; g < spec_.gpus; ++g)
      if (!listed(std::to_string(g))) return fail(list, "no link leads to GPU " + std::to_string(g));
    for (int n = 0; n < spec_.nics; ++n)
      if (!listed("nic" + std::to_string(n))) return fail(list, "no link leads to nic" + std::to_string(n));
    if (!listed("cpu")) fail(list, "no link leads to cpu, the host");
  }

  void check_place(const std::string& place, const View& where) {
    const auto number = [](std::string_view digits) {
      const bool all = !digits.empty() && digits.size() < 6 && digits.find_first_not_of("0123456789") == digits.npos;
      return all ? std::stoi(std::string(digits)) : -1;
    };
    const int gpu = number(place), nic = place.starts_with("nic") ? number(place.substr(3)) : -1;
    if (place.empty() || place.find_first_of(". >") != place.npos)
      fail(where, "\"" + place + "\" cannot name a place: " + kPlaces);
    if (gpu >= spec_.gpus) fail(where, "there is no GPU " + place + ": the node has " + std::to_string(spec_.gpus));
    if (nic >= spec_.nics)
      fail(where, "there is no " + place + ": the node has " + std::to_string(spec_.nics) + " NICs");
  }

  const View& item_;
  const std::string& directory_;
  NodeSpec& spec_;
  Diagnostics& diagnostics_;
  View options_;  ///< empty unless `inside` is a map
};

}  // namespace

Schema inside_schema() {
  std::vector<SchemaField> fields = link_fields();
  const std::string words = "nvswitch, nvlink_mesh, pcie, infinity_fabric, hccs, nvl72 or a FILE";
  fields.insert(fields.begin(), optional("kind", text(words)));
  fields.push_back(optional("bandwidth", quantity(Dimension::bytes_per_second, above(0, 1e14),
                                                  "one direction of a GPU's port (nvswitch, nvl72), link (meshes) or "
                                                  "slot (pcie)")));
  fields.push_back(optional("gpus_per_switch", integer(between(1, 16), "GPUs under one PCIe switch"), "2"));
  fields.push_back(
      optional("switches", integer(between(1, 64), "PCIe switches of a node, instead of gpus_per_switch")));
  fields.push_back(optional("sockets", integer(between(1, 8), "CPU sockets; default: 2 with several PCIe switches")));
  fields.push_back(optional("staged_peers", boolean("GPUs that meet at a host bridge exchange through host memory, as with NCCL "
                                                    "before 2.28"),
                            "false"));
  fields.push_back(optional("domain", integer(between(1, 1000), "nvl72: nodes on the same NVLink switches"), "18"));
  fields.push_back(optional("links", link_list_schema(kPlaces)));
  return one_of({text(words), object(std::move(fields), "the same with its parameters, or every link")},
                "how the GPUs of a node are joined; default: the instance's or the GPU's");
}

void read_inside(const View& item, const std::string& word, const std::string& directory, NodeSpec& spec,
                 Diagnostics& diagnostics) {
  InsideReader(item, directory, spec, diagnostics).read(word);
}

}  // namespace trainyard
