// SimGrid platforms, version 4: one <cluster>, or hosts with routes between every two.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <vector>

#include "topologies/importers/importers.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostHosts = 64;
constexpr std::int64_t kMostNodes = 65536;

/// A number with a unit of SimGrid's manual ("Units"): decimal and binary multiples of B and b, seconds.
std::optional<double> quantity(const std::string& text, const std::map<std::string, double>& units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  const auto unit = units.find(std::string(end, text.data() + text.size()));
  return unit == units.end() ? std::nullopt : std::optional(value * unit->second);
}

std::optional<double> rate_of(const std::string& text) {
  static const std::map<std::string, double> units{{"", 1},
                                                   {"Bps", 1},
                                                   {"KBps", 1e3},
                                                   {"kBps", 1e3},
                                                   {"MBps", 1e6},
                                                   {"GBps", 1e9},
                                                   {"TBps", 1e12},
                                                   {"bps", 1.0 / 8},
                                                   {"Kbps", 1e3 / 8},
                                                   {"kbps", 1e3 / 8},
                                                   {"Mbps", 1e6 / 8},
                                                   {"Gbps", 1e9 / 8},
                                                   {"Tbps", 1e12 / 8},
                                                   {"KiBps", 1024},
                                                   {"MiBps", 1048576},
                                                   {"GiBps", 1073741824}};
  return quantity(text, units);
}

std::optional<double> time_of(const std::string& text) {
  static const std::map<std::string, double> units{{"", 1},      {"s", 1},     {"ms", 1e-3},
                                                   {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}};
  return quantity(text, units);
}

/// Whole numbers separated by any of `;` and `,`.
std::vector<std::int64_t> parameters_of(const std::string& text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1 || number > kMostNodes) return {};
    numbers.push_back(number);
    at = next + 1;
  }
  return numbers;
}

/// Hosts of `0-99,110`: 0 where it is not that.
std::int64_t radical_size(const std::string& text) {
  std::int64_t hosts = 0;
  for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
    std::int64_t first = 0, last = 0;
    const char* const end = text.data() + text.size();
    auto part = std::from_chars(at, end, first);
    if (part.ec != std::errc()) return 0;
    last = first;
    if (part.ptr < end && *part.ptr == '-') part = std::from_chars(part.ptr + 1, end, last);
    if (part.ec != std::errc() || first < 0 || last < first || last - first > kMostNodes) return 0;
    hosts += last - first + 1;
    at = part.ptr;
  }
  return hosts;
}

const char* const kHead =
    "# SimGrid's hosts have no GPUs: one T4-16GB each is assumed, write yours. Host speeds are left out.\n";

std::string nodes_yaml(const std::string& name, std::int64_t count, double rate, double latency,
                       const std::string& region) {
  return fmt::format(
      "    - {{name: {}, gpu: T4-16GB, gpus_per_node: 1, count: {}, nics: 1, nic: {{rate: {:.6g} MB/s, "
      "efficiency: 1, latency: {:.6g} us}}, transport: ethernet{}}}\n",
      name, count, rate * 1e-6, latency * 1e6, region.empty() ? "" : ", region: " + region);
}

/// `fabric:` of a cluster's topology; "" where its parameters are wrong.
std::string fabric_yaml(const std::string& topology, const std::vector<std::int64_t>& p, double rate) {
  if (topology.empty() || topology == "FLAT") return "{kind: star}";
  if (topology == "TORUS" && !p.empty() && p.size() <= 4)
    return fmt::format("{{kind: torus, shape: [{}], bandwidth: {:.6g} MB/s}}", fmt::join(p, ", "), rate * 1e-6);
  if (topology == "FAT_TREE" && p.size() == 7 && p[0] == 2)
    return fmt::format("{{kind: fat_tree, leaf: {}, oversubscription: {:.6g}}}", p[1],
                       double(p[1]) / double(p[4] * p[6]));
  if (topology == "DRAGONFLY" && p.size() == 7)
    return fmt::format(
        "{{kind: dragonfly, group: {}, leaf: {}, bandwidth: {:.6g} MB/s, global_bandwidth: {:.6g} MB/s}}", p[2] * p[4],
        p[6], rate * double(p[5]) * 1e-6, rate * double(p[1]) * 1e-6);
  return "";
}

ImportedCluster import_one_cluster(const pugi::xml_node& cluster) {
  const std::string id = cluster.attribute("id").as_string();
  const auto rate = rate_of(cluster.attribute("bw").as_string());
  const auto latency = time_of(cluster.attribute("lat").as_string());
  const std::int64_t hosts = radical_size(cluster.attribute("radical").as_string());
  if (!rate || *rate == 0 || !latency) return ImportProblem{"cluster \"" + id + "\": bw or lat is no rate or time"};
  if (hosts < 1 || hosts > kMostNodes)
    return ImportProblem{"cluster \"" + id + "\": radical does not name 1 to 65536 hosts"};
  const std::string topology = cluster.attribute("topology").as_string();
  const std::string fabric =
      fabric_yaml(topology, parameters_of(cluster.attribute("topo_parameters").as_string()), *rate);
  if (fabric.empty())
    return ImportProblem{fmt::format("cluster \"{}\": topology {} with parameters \"{}\" is not read", id, topology,
                                     cluster.attribute("topo_parameters").as_string())};
  std::string text = kHead;
  if (cluster.attribute("bb_bw"))
    text += fmt::format("# The backbone of {}, shared by all, is left out.\n", cluster.attribute("bb_bw").as_string());
  if (topology == "DRAGONFLY") text += "# Routers of all chassis of a group are joined directly.\n";
  return text + "cluster:\n  nodes:\n" + nodes_yaml("host", hosts, *rate, *latency, "") + "  fabric: " + fabric + "\n";
}

struct Way {
  double rate = 0, latency = 0;
};

/// Hosts as regions of one node each, with the narrowest rate and the whole latency of every route.
class HostsReader {
 public:
  explicit HostsReader(const pugi::xml_node& zone) : zone_(zone) {}

  ImportedCluster read() {
    for (const pugi::xml_node& host : zone_.children("host")) names_.emplace_back(host.attribute("id").as_string());
    if (names_.size() < 2 || names_.size() > kMostHosts)
      return ImportProblem{fmt::format("{} hosts with routes; 2 to {} are read", names_.size(), kMostHosts)};
    for (const pugi::xml_node& link : zone_.children("link")) {
      const auto rate = rate_of(link.attribute("bandwidth").as_string());
      const auto latency = time_of(link.attribute("latency").as_string("0"));
      if (!rate || *rate == 0 || !latency)
        return ImportProblem{
            fmt::format("link \"{}\": bandwidth or latency is no rate or time", link.attribute("id").as_string())};
      links_[link.attribute("id").as_string()] = {*rate, *latency};
    }
    for (const pugi::xml_node& route : zone_.children("route"))
      if (const std::string problem = take(route); !problem.empty()) return ImportProblem{problem};
    return yaml();
  }

 private:
  std::string take(const pugi::xml_node& route) {
    const std::string from = route.attribute("src").as_string(), to = route.attribute("dst").as_string();
    Way way{1e15, 0};
    for (const pugi::xml_node& part : route.children("link_ctn")) {
      const auto link = links_.find(part.attribute("id").as_string());
      if (link == links_.end())
        return fmt::format("route {} to {}: no link \"{}\"", from, to, part.attribute("id").as_string());
      way.rate = std::min(way.rate, link->second.rate);
      way.latency += link->second.latency;
    }
    if (way.rate < 1e15) ways_[from < to ? std::pair(from, to) : std::pair(to, from)] = way;
    return "";
  }

  [[nodiscard]] ImportedCluster yaml() const {
    std::string text = kHead;
    text +=
        "# Links that several routes share are not: each pair of hosts has its route's narrowest rate for "
        "itself.\ncluster:\n  nodes:\n";
    std::string matrix;
    double widest = 0;
    for (std::size_t a = 0; a < names_.size(); ++a)
      for (std::size_t b = a + 1; b < names_.size(); ++b) {
        const auto way = ways_.find(std::minmax(names_[a], names_[b]));
        if (way == ways_.end())
          return ImportProblem{fmt::format("no route between \"{}\" and \"{}\"", names_[a], names_[b])};
        widest = std::max(widest, way->second.rate);
        matrix += fmt::format("      - {{between: [host{}, host{}], bandwidth: {:.9g} MB/s, latency: {:.9g} us}}\n", a,
                              b, way->second.rate * 1e-6, way->second.latency * 1e6);
      }
    for (std::size_t a = 0; a < names_.size(); ++a)
      text += nodes_yaml(fmt::format("host{}", a), 1, widest * double(names_.size()), 0, fmt::format("host{}", a));
    return text + "  fabric:\n    kind: regions\n    matrix:\n" + matrix;
  }

  pugi::xml_node zone_;
  std::vector<std::string> names_;
  std::map<std::string, Way> links_;
  std::map<std::pair<std::string, std::string>, Way> ways_;
};

struct Contents : pugi::xml_tree_walker {
  std::vector<pugi::xml_node> clusters, zones_with_hosts;
  std::size_t zones = 0;
  bool for_each(pugi::xml_node& node) override {
    const std::string name = node.name();
    if (name == "cluster") clusters.push_back(node);
    if ((name == "zone" || name == "AS") && node.child("host")) zones_with_hosts.push_back(node);
    if (name == "zone" || name == "AS") ++zones;
    return depth() < 64;
  }
};

}  // namespace

ImportedCluster import_simgrid(const std::string& text) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(text.data(), text.size());
  if (!result) return ImportProblem{fmt::format("not XML: {} (at byte {})", result.description(), result.offset)};
  const pugi::xml_node root = document.document_element();
  if (std::string(root.name()) != "platform")
    return ImportProblem{fmt::format("its root is <{}>; a SimGrid platform has <platform>", root.name())};
  Contents found;
  document.traverse(found);
  if (found.clusters.size() == 1 && found.zones_with_hosts.empty()) return import_one_cluster(found.clusters[0]);
  if (found.clusters.empty() && found.zones_with_hosts.size() == 1 && found.zones == 1)
    return HostsReader(found.zones_with_hosts[0]).read();
  return ImportProblem{fmt::format("{} clusters and {} zones; one <cluster>, or one zone of hosts and routes, is read",
                                   found.clusters.size(), found.zones)};
}

}  // namespace trainyard
