#include "sim/cost/price.hpp"

#include <vector>

namespace trainyard {

Price price_of(const Cluster& cluster, std::span<const DeviceId> devices) {
  std::vector<bool> rented(cluster.nodes.size(), false);
  for (const DeviceId d : devices) rented[index(cluster.devices[index(d)].node)] = true;
  Price price;
  for (std::size_t i = 0; i < rented.size(); ++i) {
    if (!rented[i]) continue;
    price.rate += cluster.nodes[i].price;
    price.known = price.known && !cluster.nodes[i].price_source.empty();
  }
  return price;
}

}  // namespace trainyard
