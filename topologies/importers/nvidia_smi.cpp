#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>

#include "topologies/importers/node_import.hpp"

namespace trainyard {
namespace {

using Words = std::vector<std::string>;

constexpr double kSocketLink = 62.4e9;
constexpr std::size_t kMostColumns = 256;

/// Words of a line, without the codes that underline it on a terminal.
Words words_of(const std::string& line) {
  static const std::regex escape("\x1b\\[[0-9;]*[A-Za-z]");
  std::istringstream in(std::regex_replace(line, escape, " "));
  return {std::istream_iterator<std::string>(in), {}};
}

bool is_cell(const std::string& word) {
  if (word.starts_with("NV"))
    return word.size() > 2 && word.size() < 6 && word.find_first_not_of("0123456789", 2) == std::string::npos;
  for (const char* known : {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"})
    if (word == known) return true;
  return false;
}

bool is_gpu(const std::string& name) {
  return name.starts_with("GPU") && name.size() > 3 && name.find_first_not_of("0123456789", 3) == std::string::npos;
}

int nvlinks(const std::string& cell) { return cell.starts_with("NV") ? std::stoi(cell.substr(2)) : 0; }

/// Sets of places that are joined, by union.
class Sets {
 public:
  explicit Sets(std::size_t size) : rank_(size, 0), parent_(size), sets_(rank_.data(), parent_.data()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  void join(std::size_t a, std::size_t b) { sets_.union_set(a, b); }
  [[nodiscard]] std::size_t of(std::size_t a) { return sets_.find_set(a); }

 private:
  std::vector<std::size_t> rank_, parent_;
  boost::disjoint_sets<std::size_t*, std::size_t*> sets_;
};

/// Reads the matrix of `nvidia-smi topo -m`.
class MatrixReader {
 public:
  ImportedCluster read(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (const std::string problem = take(words_of(line)); !problem.empty()) return ImportProblem{problem};
    if (columns_.empty()) return ImportProblem{"no line names GPU0: not the output of nvidia-smi topo -m"};
    if (const std::string problem = check(); !problem.empty()) return ImportProblem{problem};
    add_pcie();
    add_nvlinks();
    return cluster_yaml(node_);
  }

 private:
  std::string take(const Words& words) {
    if (words.empty()) return "";
    if (columns_.empty()) return is_gpu(words[0]) ? take_header(words) : "";
    const auto row = std::find(columns_.begin(), columns_.end(), words[0]);
    if (row == columns_.end()) return "";
    const auto r = static_cast<std::size_t>(row - columns_.begin());
    if (!cells_[r].empty()) return "two rows are named " + words[0];
    for (std::size_t c = 1; c < words.size() && cells_[r].size() < columns_.size(); ++c) {
      if (!is_cell(words[c])) break;
      cells_[r].push_back(words[c] == "SOC" ? "SYS" : words[c]);
    }
    const std::size_t numa = columns_.size() + 2;  // behind the cells and the list of CPUs
    if (cells_[r].size() == columns_.size() && words.size() > numa) numa_[r] = words[numa];
    return "";
  }

  std::string take_header(const Words& words) {
    for (const std::string& word : words) {
      if (word == "CPU" || word == "NUMA") break;
      columns_.push_back(word);
    }
    if (columns_.size() > kMostColumns)
      return fmt::format("{} columns; at most {} are read", columns_.size(), kMostColumns);
    cells_.resize(columns_.size());
    numa_.resize(columns_.size());
    node_.gpus = static_cast<int>(std::count_if(columns_.begin(), columns_.end(), is_gpu));
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (is_gpu(columns_[c]) != (c < static_cast<std::size_t>(node_.gpus)))
        return "GPUs do not come first in its header";
    return "";
  }

  /// Rows of GPUs must be whole and agree with their mirror; rows of NICs may be cut off.
  std::string check() {
    for (std::size_t r = 0; r < columns_.size(); ++r) {
      const auto& row = cells_[r];
      const bool gpu = r < static_cast<std::size_t>(node_.gpus);
      if (gpu && row.size() < columns_.size())
        return fmt::format("row {} has {} of {} cells", columns_[r], row.size(), columns_.size());
      for (std::size_t c = 0; c < row.size(); ++c) {
        if ((row[c] == "X") != (r == c))
          return fmt::format("row {}, column {}: {} is misplaced", columns_[r], columns_[c], row[c]);
        if (c < cells_.size() && r < cells_[c].size() && cells_[c][r] != row[c])
          return fmt::format("{} to {} is {} one way and {} the other", columns_[r], columns_[c], row[c], cells_[c][r]);
      }
    }
    return "";
  }

  /// "" where neither row says.
  [[nodiscard]] std::string cell(std::size_t a, std::size_t b) const {
    if (b < cells_[a].size()) return cells_[a][b];
    return a < cells_[b].size() ? cells_[b][a] : "";
  }

  [[nodiscard]] std::string place(std::size_t column) const {
    const auto gpus = static_cast<std::size_t>(node_.gpus);
    return column < gpus ? std::to_string(column) : fmt::format("nic{}", column - gpus);
  }

  void add_pcie() {
    Sets switches(columns_.size()), sockets(columns_.size());
    for (std::size_t a = 0; a < columns_.size(); ++a)
      for (std::size_t b = a + 1; b < columns_.size(); ++b) {
        const std::string way = cell(a, b);
        if (way == "PIX" || way == "PXB") switches.join(a, b);
        if (way == "PIX" || way == "PXB" || way == "PHB" || way == "NODE") sockets.join(a, b);
        if (!numa_[a].empty() && numa_[a] != "N/A" && numa_[a] == numa_[b]) sockets.join(a, b);
      }
    node_.nics = static_cast<int>(columns_.size()) - node_.gpus;
    std::map<std::size_t, std::string> socket_names, switch_names;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto socket = socket_names.try_emplace(sockets.of(c), fmt::format("socket{}", socket_names.size()));
      if (socket.second) link(socket.first->second, "cpu", kSocketLink, "host");
      const auto at = switch_names.try_emplace(switches.of(c), fmt::format("switch{}", switch_names.size()));
      if (at.second) link(at.first->second, socket.first->second, kSlot, "pcie4");
      link(place(c), at.first->second, kSlot, "pcie4");
    }
    node_.notes.emplace_back("nvidia-smi does not say how fast PCIe is: 16 lanes of generation 4 are assumed.");
    if (node_.nics > 0) node_.notes.emplace_back("It does not say how fast the NICs are: 100 Gbps is assumed.");
  }

  void add_nvlinks() {
    const auto gpus = static_cast<std::size_t>(node_.gpus);
    std::vector<int> most(gpus, 0);
    bool all = gpus > 1;
    for (std::size_t a = 0; a < gpus; ++a)
      for (std::size_t b = 0; b < gpus; ++b) {
        if (a == b) continue;
        most[a] = std::max(most[a], nvlinks(cell(a, b)));
        all = all && nvlinks(cell(a, b)) > 0;
      }
    const int widest = gpus == 0 ? 0 : *std::max_element(most.begin(), most.end());
    const NvlinkGeneration generation = nvlink_of_link_count(widest);
    node_.gpu = widest > 0 ? generation.gpu : "A100-PCIe-80GB";
    node_.notes.push_back(
        "The GPUs are not named: " + node_.gpu +
        (widest > 0 ? fmt::format(" is assumed for NV{}, write yours.", widest) : " is assumed, write yours."));
    if (widest == 0) return;
    const bool switched = all && (gpus > 2 || widest > 6) && widest > 4;
    if (!switched) return add_pairs(generation);
    for (std::size_t g = 0; g < gpus; ++g) {
      link(std::to_string(g), "nvswitch", most[g] * generation.bytes_per_s, generation.transport);
      if (most[g] < widest) node_.notes.push_back(fmt::format("GPU{} has {} of {} NVLinks.", g, most[g], widest));
    }
  }

  void add_pairs(const NvlinkGeneration& generation) {
    for (std::size_t a = 0; a < static_cast<std::size_t>(node_.gpus); ++a)
      for (std::size_t b = a + 1; b < static_cast<std::size_t>(node_.gpus); ++b)
        if (const int count = nvlinks(cell(a, b)); count > 0)
          node_.links.push_back({place(a), place(b), generation.bytes_per_s, count, generation.transport});
  }

  void link(const std::string& a, const std::string& b, double rate, const char* transport) {
    node_.links.push_back({a, b, rate, 1, transport});
  }
  void link(const std::string& a, const std::string& b, double rate, const std::string& transport) {
    node_.links.push_back({a, b, rate, 1, transport});
  }

  static constexpr double kSlot = 31.5e9;
  Words columns_;
  Words numa_;                ///< [row]: "" where it does not say
  std::vector<Words> cells_;  ///< [row][column]; a row that is missing is empty
  NodeImport node_;
};

}  // namespace

ImportedCluster import_nvidia_smi(const std::string& text) { return MatrixReader().read(text); }

}  // namespace trainyard
