#include "sim/cost/collective_uneven.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

CollectiveCost padded_cost(const CollectiveShape& shape, const Transport& transport, const std::vector<Bytes>& parts) {
  CollectiveCost cost = collective_cost(shape, transport, *std::ranges::max_element(parts) * double(parts.size()));
  cost.algorithm = Algorithm::padded;
  return cost;
}

CollectiveCost grouped_cost(CollectiveShape shape, const Transport& transport, const std::vector<Bytes>& parts) {
  shape.kind = CollectiveKind::broadcast;
  CollectiveCost all;
  all.algorithm = Algorithm::grouped;
  for (const Bytes part : parts) {
    const CollectiveCost one = collective_cost(shape, transport, part);
    all.delay = all.delay + one.delay;
    all.bytes = all.bytes + one.bytes;
  }
  return all;
}

}  // namespace

std::vector<PortBytes> port_bytes(const SizeMatrix& sizes, const std::vector<int>& port_of) {
  require(sizes.size() == port_of.size(), "a port for each member");
  std::vector<PortBytes> ports(port_of.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(port_of)) + 1);
  for (std::size_t from = 0; from < sizes.size(); ++from) {
    require(sizes[from].size() == sizes.size(), "the matrix of sizes is square");
    for (std::size_t to = 0; to < sizes.size(); ++to) {
      const auto sender = static_cast<std::size_t>(port_of[from]), receiver = static_cast<std::size_t>(port_of[to]);
      if (sender == receiver) continue;
      ports[sender].out = ports[sender].out + sizes[from][to];
      ports[receiver].in = ports[receiver].in + sizes[from][to];
    }
  }
  return ports;
}

CollectiveCost exchange_cost(const CollectiveShape& shape, const Transport& transport, const SizeMatrix& sizes) {
  std::vector<int> own_port(sizes.size());
  std::iota(own_port.begin(), own_port.end(), 0);
  Bytes busiest{};
  for (const PortBytes& port : port_bytes(sizes, own_port)) busiest = std::max({busiest, port.out, port.in});
  CollectiveShape even = shape;
  even.kind = CollectiveKind::all_to_all;
  even.members = even.hops = static_cast<int>(sizes.size());
  return collective_cost(even, transport, busiest * (double(even.members) / std::max(1, even.members - 1)));
}

CollectiveCost uneven_cost(const CollectiveShape& shape, const Transport& transport, const std::vector<Bytes>& parts,
                           Algorithm algorithm) {
  require(parts.size() == static_cast<std::size_t>(shape.members) && !parts.empty(), "a part for each member");
  const CollectiveCost padded = padded_cost(shape, transport, parts), grouped = grouped_cost(shape, transport, parts);
  if (algorithm == Algorithm::padded) return padded;
  if (algorithm == Algorithm::grouped) return grouped;
  return grouped.alone(shape.ring_rate) < padded.alone(shape.ring_rate) ? grouped : padded;
}

}  // namespace trainyard
