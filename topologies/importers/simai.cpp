// Topologies of SimAI and of ASTRA-sim's ns-3 back end: numbered nodes, switches, and one link a line.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "topologies/catalogue.hpp"
#include "topologies/importers/importers.hpp"

namespace trainyard {
namespace {

constexpr int kMostNodes = 200000;
using Words = std::vector<std::string>;

std::optional<double> number_of(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<int> count_of(const std::string& word) {
  const auto value = number_of(word);
  if (!value || *value < 0 || *value > kMostNodes || *value != std::floor(*value)) return std::nullopt;
  return static_cast<int>(*value);
}

/// A number with one of the units, in SI.
std::optional<double> with_unit(const std::string& word, const std::map<std::string, double>& units) {
  const auto at = word.find_first_not_of("0123456789.eE+-");
  if (at == std::string::npos) return std::nullopt;
  const auto unit = units.find(word.substr(at));
  const auto value = number_of(word.substr(0, at));
  if (unit == units.end() || !value || *value < 0) return std::nullopt;
  return *value * unit->second;
}

const std::map<std::string, double> kRates{
    {"Gbps", 1e9 / 8}, {"Mbps", 1e6 / 8}, {"Kbps", 1e3 / 8}, {"bps", 1.0 / 8}, {"Tbps", 1e12 / 8}};
const std::map<std::string, double> kTimes{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};

struct Wire {
  double bytes_per_s = 0, latency = 0;
  int count = 0;
};

class SimaiReader {
 public:
  ImportedCluster read(const std::string& text) {
    std::istringstream in(text);
    int number = 0;
    for (std::string line; problem_.empty() && std::getline(in, line);) {
      std::istringstream split(line);
      const Words words{std::istream_iterator<std::string>(split), {}};
      ++number;
      if (number == 1) take_header(words);
      if (number == 2) take_switches(words);
      if (number > 2 && !words.empty()) take_link(words, number);
    }
    if (number == 0) problem_ = "the file is empty";
    if (problem_.empty()) check();
    if (!problem_.empty()) return ImportProblem{problem_};
    return yaml();
  }

 private:
  void take_header(const Words& words) {
    if (words.size() != 3 && words.size() != 6) {
      problem_ = fmt::format(
          "line 1 has {} words; SimAI writes 6 (nodes, GPUs a server, NVSwitches, switches, links, GPU), ns-3 3",
          words.size());
      return;
    }
    std::vector<int> counts;
    for (std::size_t w = 0; w < std::min<std::size_t>(words.size(), 5); ++w) {
      const auto count = count_of(words[w]);
      if (!count) return void(problem_ = fmt::format("line 1: \"{}\" is no number of nodes", words[w]));
      counts.push_back(*count);
    }
    const bool simai = words.size() == 6;
    nodes_ = counts[0];
    per_server_ = simai ? counts[1] : 1;
    nvswitches_ = simai ? counts[2] : 0;
    switches_ = simai ? counts[3] : counts[1];
    links_ = simai ? counts[4] : counts[2];
    gpus_ = nodes_ - nvswitches_ - switches_;
    gpu_ = !simai ? "" : words[5] == "A100" ? "A100-SXM4-80GB" : words[5];
    if (gpus_ < 1 || per_server_ < 1 || gpus_ % per_server_ != 0)
      problem_ = fmt::format("line 1: {} GPUs do not make servers of {}", gpus_, per_server_);
    switch_number_.assign(static_cast<std::size_t>(nodes_), -1);
  }

  void take_switches(const Words& words) {
    for (const std::string& word : words) {
      const auto id = count_of(word);
      if (!id || *id >= nodes_) return void(problem_ = fmt::format("line 2: there is no node {}", word));
      switch_number_[static_cast<std::size_t>(*id)] = listed_++;
    }
    if (listed_ != nvswitches_ + switches_) {
      problem_ = fmt::format("line 2 lists {} switches, line 1 says {}", listed_, nvswitches_ + switches_);
      return;
    }
    gpu_number_.assign(static_cast<std::size_t>(nodes_), -1);
    int next = 0;
    for (std::size_t id = 0; id < switch_number_.size(); ++id)
      if (switch_number_[id] < 0) gpu_number_[id] = next++;
  }

  void take_link(const Words& words, int line) {
    const auto a = words.size() == 5 ? count_of(words[0]) : std::nullopt;
    const auto b = words.size() == 5 ? count_of(words[1]) : std::nullopt;
    const auto rate = words.size() == 5 ? with_unit(words[2], kRates) : std::nullopt;
    const auto latency = words.size() == 5 ? with_unit(words[3], kTimes) : std::nullopt;
    if (!a || !b || !rate || !latency || *rate == 0 || *a >= nodes_ || *b >= nodes_ || *a == *b) {
      problem_ = fmt::format("line {}: no link (source, destination, rate, latency, error rate)", line);
      return;
    }
    Wire& wire = wires_[{std::min(*a, *b), std::max(*a, *b)}];
    wire = {*rate, *latency, wire.count + 1};
    ++read_;
  }

  void check() {
    if (listed_ != nvswitches_ + switches_)
      problem_ = "line 2, the switches, is missing";
    else if (read_ != links_)
      problem_ = fmt::format("{} links follow, line 1 says {}", read_, links_);
    else
      sort_links();
  }

  [[nodiscard]] int gpu(int id) const { return gpu_number_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int nic_switch(int id) const { return switch_number_[static_cast<std::size_t>(id)] - nvswitches_; }

  /// Links to NVSwitches are insides, those between servers (with ns-3, between nodes) belong to the fabric.
  void sort_links() {
    for (const auto& [ends, wire] : wires_) {
      const auto [a, b] = ends;
      const bool nv = (gpu(a) < 0 && nic_switch(a) < 0) || (gpu(b) < 0 && nic_switch(b) < 0);
      if (nv) {
        nvlink_ = std::max(nvlink_, wire.bytes_per_s * wire.count);
        nvlink_latency_ = wire.latency;
        continue;
      }
      fabric_ += fmt::format(
          "      - {{between: [{}, {}], bandwidth: {:.6g} Gbps, latency: {:.6g} us{}, efficiency: 1, transport: "
          "roce}}\n",
          place(a), place(b), wire.bytes_per_s * 8e-9, wire.latency * 1e6,
          wire.count > 1 ? fmt::format(", count: {}", wire.count) : "");
      for (int end : {a, b})
        if (gpu(end) >= 0) port_[gpu(end)] += wire.bytes_per_s * wire.count;
    }
  }

  [[nodiscard]] std::string place(int id) const {
    if (gpu(id) >= 0) return fmt::format("imported.{}.nic{}", gpu(id) / per_server_, gpu(id) % per_server_);
    return fmt::format("switch{}", nic_switch(id));
  }

  [[nodiscard]] std::string yaml() const {
    const bool known = !gpu_.empty() && catalogue().gpu(gpu_) != nullptr;
    double port = 0;
    for (const auto& [gpu, rate] : port_) port = std::max(port, rate);
    std::string text = known ? ""
                             : "# The GPU " + (gpu_.empty() ? "" : gpu_ + " ") +
                                   "is not in the catalogue: H100-SXM5-80GB is assumed, write yours.\n";
    text +=
        "# Rates are taken as what bulk traffic reaches, as SimAI does.\ncluster:\n  nodes:\n    - name: imported\n";
    text += fmt::format("      gpu: {}\n      gpus_per_node: {}\n      count: {}\n", known ? gpu_ : "H100-SXM5-80GB",
                        per_server_, gpus_ / per_server_);
    if (port > 0)
      text +=
          fmt::format("      nics: {}\n      nic: {{rate: {:.6g} Gbps, efficiency: 1}}\n", per_server_, port * 8e-9);
    if (nvlink_ > 0)
      text +=
          fmt::format("      inside: {{kind: nvswitch, bandwidth: {:.6g} GB/s, latency: {:.6g} us, efficiency: 1}}\n",
                      nvlink_ * 1e-9, nvlink_latency_ * 1e6);
    else
      text += "      inside: pcie\n";
    return gpus_ > per_server_ ? text + "  fabric:\n    links:\n" + fabric_ : text;
  }

  std::string problem_, gpu_, fabric_;
  int nodes_ = 0, per_server_ = 1, nvswitches_ = 0, switches_ = 0, links_ = 0, gpus_ = 0, listed_ = 0, read_ = 0;
  std::vector<int> switch_number_, gpu_number_;  ///< [node]; -1: the other kind
  std::map<std::pair<int, int>, Wire> wires_;
  std::map<int, double> port_;
  double nvlink_ = 0, nvlink_latency_ = 0;
};

}  // namespace

ImportedCluster import_simai(const std::string& text) { return SimaiReader().read(text); }

}  // namespace trainyard
