#include "sim/lowering/wire.hpp"

#include <algorithm>

#include "sim/cost/collective_uneven.hpp"

namespace trainyard {
namespace {

BytesPerSecond rate_over(const Cluster& cluster, const std::vector<std::pair<LinkId, int>>& links) {
  const auto share = [&](const auto& use) { return cluster.links[index(use.first)].bandwidth / double(use.second); };
  return links.empty() ? BytesPerSecond{} : share(*std::ranges::min_element(links, {}, share));
}

}  // namespace

std::optional<InnerGroup> inner_group(const Cluster& cluster, const Communicator& group) {
  if (!group.inside) return std::nullopt;
  return InnerGroup{group.inside->members, rate_over(cluster, group.inside->links) * double(group.inside->rings),
                    cluster.transports[index(group.inside->transport)]};
}

CollectiveShape shape_by_wire(const Cluster& cluster, const Communicator& group, CollectiveKind kind, const Wire& wire) {
  CollectiveShape shape = group.shape(kind);
  shape.algorithm = wire.all_reduce;
  shape.inside = inner_group(cluster, group);
  const bool one_level = group.nodes == 1 || group.nodes == shape.members;
  if (shape.algorithm == Algorithm::hierarchical && one_level) shape.algorithm = Algorithm::ring;
  return shape;
}

CollectiveCost cost_by_wire(const CollectiveShape& shape, const Transport& transport, Bytes size, const Wire& wire) {
  if (shape.kind != CollectiveKind::all_gather || wire.all_gather == Algorithm::automatic) return collective_cost(shape, transport, size);
  const std::vector<Bytes> parts(std::size_t(shape.members), size / double(shape.members));
  return uneven_cost(shape, transport, parts, wire.all_gather);
}

}  // namespace trainyard
