#include "workloads/routing_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/config/text_file.hpp"
#include "workloads/route_log.hpp"

namespace trainyard {
namespace {

constexpr double kMostExponent = 10;

int items_of(const LayerType& type) {
  int items = 1;
  for (const Operator& op : type.operators) items = std::max(items, op.items);
  return items;
}

/// SplitMix64 (Steele et al., OOPSLA 2014): the same numbers on every machine.
std::uint64_t next_number(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// An order of n experts (Fisher and Yates).
std::vector<int> drawn_order(int n, std::uint64_t seed) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int i = n - 1; i > 0; --i) std::swap(order[i], order[next_number(seed) % std::uint64_t(i + 1)]);
  return order;
}

std::vector<double> normalised(std::vector<double> shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

/// Shares ~ 1 / rank^s. A token takes `each` different experts, so that none has more than 1 / each of all copies: what is above goes
/// to the others in proportion.
std::vector<double> zipf(double exponent, const std::vector<int>& order, double each) {
  std::vector<double> shares(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) shares[order[rank]] = std::pow(double(rank + 1), -exponent);
  shares = normalised(std::move(shares));
  const double most = 1 / each;
  for (std::size_t full = 0; full < order.size() && shares[order[full]] > most; ++full) {
    double rest = 0;
    for (std::size_t r = full + 1; r < order.size(); ++r) rest += shares[order[r]];
    const double factor = (1 - most * double(full + 1)) / rest;
    shares[order[full]] = most;
    for (std::size_t r = full + 1; r < order.size(); ++r) shares[order[r]] *= factor;
  }
  return shares;
}

class RoutingReader {
 public:
  RoutingReader(const View& section, const std::string& directory, Workload& workload, Diagnostics& diagnostics)
      : section_(section), directory_(directory), workload_(workload), diagnostics_(diagnostics) {}

  void read() {
    const Module& module = workload_.modules.front();
    sparse_.assign(module.layers.size(), 0);
    for (std::size_t i = 0; i < module.layers.size(); ++i) {
      const LayerType& type = module.types[index(module.layers[i].type)];
      if (items_of(type) == 1) continue;
      sparse_[i] = items_of(type);
      for (const Operator& op : type.operators)
        if (op.items > 1) each_ = op.items_per_token;
    }
    if (std::ranges::max(sparse_) == 0) return diagnostics_.add(section_.place(), "routing needs a model with experts");
    if (section_.is_scalar()) return;  // uniform
    limits();
    distribution();
  }

 private:
  void limits() {
    ItemRouting& routing = workload_.data.routing;
    routing.capacity = section_["capacity"].number_or(0);
    routing.padded = section_["padded"].boolean_or(false);
    routing.nodes = int(section_["nodes"].integer_or(0));
    if (routing.padded && routing.capacity == 0) diagnostics_.add(section_["padded"].place(), "padded goes with capacity");
  }

  void distribution() {
    int given = 0;
    for (const char* key : {"zipf", "drifting", "shares", "trace"}) given += bool(section_[key]);
    if (given > 1) return diagnostics_.add(section_.place(), "one of zipf, drifting, shares and trace, not several");
    if (section_["zipf"]) skewed(section_["zipf"].number(), 0, "zipf");
    if (section_["drifting"]) skewed(section_["drifting"].number(), int(section_["step"].integer_or(0)), "drifting");
    if (section_["shares"]) shares();
    if (section_["trace"]) trace();
  }

  void skewed(double exponent, int step, const char* name) {
    const auto seed = std::uint64_t(section_["seed"].integer_or(1));
    for (std::size_t layer = 0; layer < sparse_.size(); ++layer) {
      workload_.data.item_load.emplace_back();
      if (sparse_[layer] == 0) continue;
      std::vector<int> order = drawn_order(sparse_[layer], seed * 1000003 + layer);
      std::ranges::rotate(order, order.begin() + step % sparse_[layer]);
      workload_.data.item_load.back() = zipf(exponent, order, each_);
    }
    workload_.data.routing.text = fmt::format("{} {:g}", name, exponent);
  }

  void shares() {
    std::vector<double> given;
    for (std::size_t i = 0; i < section_["shares"].size(); ++i) given.push_back(section_["shares"].at(i).number());
    if (std::accumulate(given.begin(), given.end(), 0.0) <= 0) return diagnostics_.add(section_["shares"].place(), "no share is above zero");
    given = normalised(std::move(given));
    for (const int items : sparse_) {
      if (items > 0 && std::size_t(items) != given.size())
        return diagnostics_.add(section_["shares"].place(), fmt::format("{} shares, but layers have {} experts", given.size(), items));
      workload_.data.item_load.push_back(items > 0 ? given : std::vector<double>{});
    }
    workload_.data.routing.text = "shares";
  }

  /// Layers that the log leaves out have the loads of those it holds, in turn, where `missing_layers: repeat` says so.
  void trace() {
    const View file = section_["trace"];
    const std::string path = (std::filesystem::path(directory_) / file.text()).lexically_normal().string();
    const TextFile text = read_text_file(path);
    if (!text.error.empty()) return diagnostics_.add(file.place(), fmt::format("{}: {}", path, text.error));
    const RouteLog log = read_route_log(text.text, section_["skip"].text_or("") == "warm_up");
    if (!log.problem.empty()) return diagnostics_.add(file.place(), fmt::format("{}: {}", path, log.problem));
    const bool repeats = section_["missing_layers"].text_or("") == "repeat";
    std::size_t sparse = 0;
    for (const int items : sparse_) {
      workload_.data.item_load.emplace_back();
      if (items == 0) continue;
      const auto found = log.hits.find(int(sparse));
      if (found == log.hits.end() && !repeats)
        return diagnostics_.add(file.place(), fmt::format("{} holds no routes of layer {}; missing_layers: repeat uses those of others", path, sparse));
      const std::vector<double>& hits = found != log.hits.end() ? found->second : std::next(log.hits.begin(), std::ptrdiff_t(sparse % log.hits.size()))->second;
      if (int(hits.size()) > items)
        return diagnostics_.add(file.place(), fmt::format("{} names expert {}, but layers have {}", path, hits.size() - 1, items));
      workload_.data.item_load.back() = hits;
      workload_.data.item_load.back().resize(items, 0);
      workload_.data.item_load.back() = normalised(workload_.data.item_load.back());
      ++sparse;
    }
    workload_.data.routing.text = "trace " + file.text();
  }

  const View& section_;
  const std::string& directory_;
  Workload& workload_;
  Diagnostics& diagnostics_;
  std::vector<int> sparse_;                ///< [layer]: its experts, 0 without
  double each_ = 1;                        ///< experts of a token
};

}  // namespace

Schema routing_schema() {
  using namespace schema;
  return one_of({choice({"uniform"}, "every expert equally often"),
                 object({optional("zipf", number(between(0, kMostExponent), "exponent of the shares of experts")),
                         optional("drifting", number(between(0, kMostExponent), "the same, with hot experts that move on")),
                         optional("step", integer(between(0, 1e9), "drifting: how far they have moved"), "0"),
                         optional("seed", integer(between(0, 1e9), "draws which experts are hot in which layer"), "1"),
                         optional("shares", list(number(between(0, 1e15), "share"), between(2, 1e5), "of each expert, in every layer")),
                         optional("trace", text("log of routes")),
                         optional("format", choice({"moe_routes"}, "of the log"), "moe_routes"),
                         optional("skip", choice({"warm_up"}, "routes of the engine's warm-up, which are all alike")),
                         optional("missing_layers", choice({"repeat"}, "layers without routes have those of others")),
                         optional("capacity", number(between(0.01, 1e3), "tokens of an expert over the mean, beyond which they are dropped")),
                         optional("padded", boolean("experts compute their whole capacity")),
                         optional("nodes", integer(between(1, 1e4), "most nodes on which the experts of a token lie"))},
                        "skewed")},
                "how tokens find their experts");
}

void read_routing(const View& section, const std::string& directory, Workload& workload, Diagnostics& diagnostics) {
  RoutingReader(section, directory, workload, diagnostics).read();
}

}  // namespace trainyard
