// ASTRA-sim 2 analytical networks: one entry a dimension, the innermost first.
#include <fmt/format.h>

#include <functional>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "topologies/importers/importers.hpp"

namespace trainyard {

using namespace schema;

namespace {

constexpr std::int64_t kMostNpus = 65536;
constexpr std::int64_t kMostPairs = 1000000;

struct AstraDimension {
  std::string kind;
  std::int64_t npus = 1;
  double bytes_per_s = 0;
  double latency_ns = 0;
};

Schema network_schema() {
  const Schema kind = choice({"Ring", "Switch", "FullyConnected"}, "of one dimension");
  return object({required("topology", list(kind, between(1, 8), "dimensions")),
                 required("npus_count", list(integer(between(1, 65536), "NPUs"), between(1, 8), "NPUs")),
                 required("bandwidth", list(number(above(0, 1e5), "GB/s"), between(1, 8), "GB/s")),
                 required("latency", list(number(between(0, 1e9), "ns"), between(1, 8), "ns"))},
                "an ASTRA-sim network");
}

/// Pairs of places of one ring, or all pairs.
using Pair = std::function<void(std::int64_t, std::int64_t)>;
void each_pair(const AstraDimension& dimension, const Pair& pair) {
  const std::int64_t n = dimension.npus;
  for (std::int64_t a = 0; a < n; ++a) {
    if (dimension.kind == "FullyConnected")
      for (std::int64_t b = a + 1; b < n; ++b) pair(a, b);
    if (dimension.kind == "Ring" && n > 1 && (a + 1 < n || n > 2)) pair(a, (a + 1) % n);
  }
}

std::string link_line(const std::string& a, const std::string& b, const AstraDimension& d, const char* transport) {
  return fmt::format(
      "{{between: [\"{}\", \"{}\"], bandwidth: {:.6g} GB/s, latency: {:.6g} ns, efficiency: 1, transport: {}}}", a, b,
      d.bytes_per_s * 1e-9, d.latency_ns, transport);
}

/// Writes the innermost dimension as the inside of a node, the others as links between NICs.
class AstraWriter {
 public:
  explicit AstraWriter(std::vector<AstraDimension> dimensions) : dimensions_(std::move(dimensions)) {
    for (const AstraDimension& d : dimensions_) npus_ *= d.npus;
  }

  std::string text() {
    const AstraDimension& inner = dimensions_[0];
    std::string yaml =
        "# ASTRA-sim does not say which NPU: H100-SXM5-80GB is assumed, write yours.\n"
        "# Rates are taken as what bulk traffic reaches, as ASTRA-sim does.\n"
        "cluster:\n  nodes:\n    - name: imported\n      gpu: H100-SXM5-80GB\n";
    yaml += fmt::format("      gpus_per_node: {}\n      count: {}\n", inner.npus, npus_ / inner.npus);
    if (several())
      yaml += fmt::format("      nics: {}\n      nic: {{rate: {:.6g} GB/s, efficiency: 1}}\n", inner.npus,
                          port_rate() * 1e-9);
    yaml += "      inside:\n        links:\n" + inside();
    return several() ? yaml + "  fabric:\n    links:\n" + fabric() : yaml;
  }

 private:
  [[nodiscard]] bool several() const { return npus_ > dimensions_[0].npus; }

  /// Rings leave by two links, full meshes by one to each of the others.
  [[nodiscard]] double port_rate() const {
    double rate = 0;
    for (std::size_t d = 1; d < dimensions_.size(); ++d) {
      const AstraDimension& of = dimensions_[d];
      const double links = of.kind == "Switch" ? 1 : of.kind == "Ring" ? (of.npus > 2 ? 2 : 1) : double(of.npus - 1);
      rate += links * of.bytes_per_s;
    }
    return rate;
  }

  [[nodiscard]] std::string inside() const {
    const AstraDimension& inner = dimensions_[0];
    std::string yaml;
    const auto line = [&](const std::string& text) { yaml += "          - " + text + "\n"; };
    for (std::int64_t g = 0; g < inner.npus; ++g) {
      if (inner.kind == "Switch") line(link_line(std::to_string(g), "nvswitch", inner, "nvlink4"));
      line(fmt::format("{{between: [\"{}\", \"slot{}\"], bandwidth: 63 GB/s, transport: pcie5}}", g, g));
      line(fmt::format("{{between: [\"slot{}\", \"cpu\"], bandwidth: 63 GB/s, transport: pcie5}}", g));
      if (several())
        line(fmt::format("{{between: [\"{}\", \"nic{}\"], bandwidth: {:.6g} GB/s, efficiency: 1, transport: pcie5}}", g,
                         g, port_rate() * 1e-9));
    }
    each_pair(inner, [&](std::int64_t a, std::int64_t b) {
      line(link_line(std::to_string(a), std::to_string(b), inner, "nvlink4"));
    });
    return yaml;
  }

  [[nodiscard]] std::string fabric() const {
    std::string yaml;
    const auto line = [&](const std::string& text) { yaml += "      - " + text + "\n"; };
    AstraDimension port{"", 1, port_rate(), 0};
    const std::int64_t inner = dimensions_[0].npus;
    for (std::int64_t npu = 0; npu < npus_; ++npu)
      line(link_line(fmt::format("imported.{}.nic{}", npu / inner, npu % inner), fmt::format("port{}", npu), port,
                     "infiniband"));
    std::int64_t stride = inner;
    for (std::size_t d = 1; d < dimensions_.size(); stride *= dimensions_[d++].npus)
      for (std::int64_t first = 0; first < npus_; ++first)
        if (first / stride % dimensions_[d].npus == 0) group(d, first, stride, line);
    return yaml;
  }

  void group(std::size_t d, std::int64_t first, std::int64_t stride,
             const std::function<void(const std::string&)>& line) const {
    const auto port = [&](std::int64_t k) { return fmt::format("port{}", first + k * stride); };
    if (dimensions_[d].kind == "Switch")
      for (std::int64_t k = 0; k < dimensions_[d].npus; ++k)
        line(link_line(port(k), fmt::format("switch{}-{}", d, first), dimensions_[d], "infiniband"));
    each_pair(dimensions_[d],
              [&](std::int64_t a, std::int64_t b) { line(link_line(port(a), port(b), dimensions_[d], "infiniband")); });
  }

  std::vector<AstraDimension> dimensions_;
  std::int64_t npus_ = 1;
};

std::string size_problem(const std::vector<AstraDimension>& dimensions) {
  std::int64_t npus = 1, pairs = 0;
  if (dimensions[0].npus > 1024) return "more than 1,024 NPUs in the innermost dimension";
  for (const AstraDimension& d : dimensions) {
    npus *= d.npus;
    if (d.kind == "FullyConnected") pairs = std::max(pairs, d.npus);
    if (npus > kMostNpus) return fmt::format("more than {} NPUs", kMostNpus);
  }
  return npus * pairs > kMostPairs ? "more than 1,000,000 links" : "";
}

/// Formats of ASTRA-sim that hold no rates.
std::string other_format(const std::string& text) {
  if (text.find("logical-dims") != std::string::npos)
    return "holds logical dimensions for ns-3, without rates: import its topology file as simai";
  if (text.find("topologies-per-dim") != std::string::npos || text.find("topology-name") != std::string::npos)
    return "is a network of ASTRA-sim 1.0; only version 2 (topology, npus_count, bandwidth, latency) is read";
  return "";
}

}  // namespace

ImportedCluster import_astra_sim(const std::string& text) {
  if (const std::string other = other_format(text); !other.empty()) return ImportProblem{other};
  Diagnostics diagnostics;
  const ConfigValue root = read_yaml_text(text, "network", diagnostics);
  if (diagnostics.empty()) check(root, network_schema(), diagnostics);
  if (!diagnostics.empty()) {
    const Diagnostic& first = diagnostics.all().front();
    return ImportProblem{fmt::format("line {}: {}{}{}", first.place.line, first.place.path,
                                     first.place.path.empty() ? "" : ": ", first.message)};
  }
  const View view(root);
  std::vector<AstraDimension> dimensions(view["topology"].size());
  for (const char* key : {"npus_count", "bandwidth", "latency"})
    if (view[key].size() != dimensions.size())
      return ImportProblem{
          fmt::format("{} has {} entries for {} dimensions", key, view[key].size(), dimensions.size())};
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    dimensions[d] = {view["topology"].at(d).text(), view["npus_count"].at(d).integer(),
                     view["bandwidth"].at(d).number() * 1e9, view["latency"].at(d).number()};
  if (const std::string problem = size_problem(dimensions); !problem.empty()) return ImportProblem{problem};
  return AstraWriter(std::move(dimensions)).text();
}

}  // namespace trainyard
