#include "validation/parameters.hpp"

#include <set>
#include <tuple>

#include "topologies/catalogue.hpp"

namespace trainyard {
namespace {

constexpr int kOfProducts = 4, kOfAttention = 4, kOfProtocol = 4;

int of(const std::optional<AlgorithmTimes>& algorithm) {
  return algorithm ? kOfProtocol * static_cast<int>(algorithm->protocols.size()) + (algorithm->own > 0 ? 1 : 0) : 0;
}

}  // namespace

FittedParameters fitted_parameters() {
  FittedParameters fitted;
  std::set<std::tuple<double, double, double, double>> products;
  std::set<double> sustained;
  std::set<std::pair<double, double>> attention;
  for (const GpuEntry& gpu : catalogue().gpus) {
    if (gpu.type.extrapolated) continue;
    for (const auto& [type, c] : gpu.type.gemm) {
      products.insert({c.efficiency, c.k_half, c.quantisation, c.launch.value});
      sustained.insert(c.sustained);
    }
    for (const auto& [kernel, c] : gpu.type.attention) attention.insert({c.forward.value, c.backward.value});
  }
  fitted.kernels = kOfProducts * static_cast<int>(products.size()) + kOfAttention * static_cast<int>(attention.size());
  fitted.sustained = static_cast<int>(sustained.size());
  for (const TransportEntry& entry : catalogue().transports)
    fitted.links += of(entry.transport.ring) + of(entry.transport.tree) + of(entry.transport.in_network) + of(entry.transport.exchange);
  return fitted;
}

}  // namespace trainyard
