// Rails, tori and dragonflies.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "topologies/fabric.hpp"

namespace trainyard {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

std::size_t most_nics(const Attachments& nodes) {
  std::size_t most = 0;
  for (const Attachment& node : nodes) most = std::max(most, node.nics.size());
  return most;
}

/// Rail r of the nodes [first, last): NIC r of each at one switch, with an up-link to `spine` if there is one.
void add_rail(const FabricSpec& spec, const Attachments& nodes, std::size_t first, std::size_t last, std::size_t rail,
              std::optional<VertexId> spine, ClusterBuilder& builder) {
  const std::string unit = spec.leaf > 0 ? fmt::format("unit{}.", first / size_of(spec.leaf)) : "";
  const VertexId at = builder.add_vertex(fmt::format("fabric.{}rail{}", unit, rail));
  LinkClass up = nodes[first].link;
  up.nominal = up.bandwidth = BytesPerSecond{};
  for (std::size_t n = first; n < last; ++n) {
    if (rail >= nodes[n].nics.size()) continue;
    builder.join(nodes[n].nics[rail], at, nodes[n].link);
    up.nominal += nodes[n].link.nominal;
    up.bandwidth += nodes[n].link.bandwidth;
  }
  if (!spine || up.nominal.value == 0) return;
  const double full = spec.leaf > 0 ? static_cast<double>(spec.leaf) / static_cast<double>(last - first) : 1;
  up.nominal *= full / spec.oversubscription;
  up.bandwidth *= full / spec.oversubscription;
  builder.join(at, *spine, up);
}

/// The class of a link between switches: the written rate or that of `fallback`.
LinkClass switch_link(const LinkClass& like, std::optional<BytesPerSecond> nominal, const LinkClass& fallback) {
  LinkClass made = fallback;
  if (!nominal) return made;
  made.nominal = *nominal;
  made.bandwidth = *nominal * (like.bandwidth / like.nominal);
  return made;
}

/// Place `at` of a grid, the last dimension running fastest.
std::vector<int> place_in(const std::vector<int>& shape, std::size_t at) {
  std::vector<int> place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; at /= size_of(shape[d]))
    place[d] = static_cast<int>(at % size_of(shape[d]));
  return place;
}

std::size_t stride_of(const std::vector<int>& shape, std::size_t dimension) {
  std::size_t stride = 1;
  for (std::size_t d = dimension + 1; d < shape.size(); ++d) stride *= size_of(shape[d]);
  return stride;
}

/// Joins the neighbours of one dimension; a ring of two has one link, not two.
void join_dimension(const FabricSpec& spec, std::size_t d, const std::vector<VertexId>& routers, const LinkClass& link,
                    ClusterBuilder& builder) {
  const std::size_t stride = stride_of(spec.shape, d);
  const int length = spec.shape[d];
  for (std::size_t at = 0; at < routers.size(); ++at) {
    const int place = place_in(spec.shape, at)[d];
    if (place + 1 < length) builder.join(routers[at], routers[at + stride], link);
    const bool closes = spec.wrap && place + 1 == length && length > 2;
    if (closes) builder.join(routers[at], routers[at - stride * size_of(length - 1)], link);
  }
}

/// One link between every two groups, at routers taken in turn.
void join_groups(int groups, int routers, const std::vector<VertexId>& all, const LinkClass& link,
                 ClusterBuilder& builder) {
  const auto router = [&](int from, int to) {
    return all[size_of(from * routers + ((to - from - 1 + groups) % groups) % routers)];
  };
  for (int a = 0; a < groups; ++a)
    for (int b = a + 1; b < groups; ++b) builder.join(router(a, b), router(b, a), link);
}

}  // namespace

void add_rails(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder) {
  std::optional<VertexId> spine;
  if (spec.kind == FabricKind::rail) spine = builder.add_vertex("fabric.spine");
  const std::size_t width = spec.leaf > 0 ? size_of(spec.leaf) : nodes.size(), rails = most_nics(nodes);
  for (std::size_t first = 0; first < nodes.size(); first += width)
    for (std::size_t rail = 0; rail < rails; ++rail)
      add_rail(spec, nodes, first, std::min(first + width, nodes.size()), rail, spine, builder);
}

void add_torus(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder, Diagnostics& diagnostics) {
  const std::size_t places = std::accumulate(spec.shape.begin(), spec.shape.end(), std::size_t{1},
                                             [](std::size_t product, int n) { return product * size_of(n); });
  if (nodes.size() > places)
    return diagnostics.add(spec.place, fmt::format("a torus {} has {} places for {} nodes",
                                                   fmt::join(spec.shape, " x "), places, nodes.size()));
  std::vector<VertexId> routers;
  for (std::size_t at = 0; at < places; ++at) {
    routers.push_back(builder.add_vertex(fmt::format("fabric.{}", fmt::join(place_in(spec.shape, at), "-"))));
    if (at < nodes.size()) join_nics(nodes[at], routers.back(), builder);
  }
  const LinkClass link = switch_link(nodes.front().link, spec.rate, nodes.front().whole());
  for (std::size_t d = 0; d < spec.shape.size(); ++d) join_dimension(spec, d, routers, link, builder);
}

void add_dragonfly(const FabricSpec& spec, const Attachments& nodes, ClusterBuilder& builder) {
  const std::size_t per_group = size_of(spec.leaf) * size_of(spec.group);
  const auto groups = static_cast<int>((nodes.size() + per_group - 1) / per_group);
  const LinkClass one = nodes.front().whole(), local = switch_link(nodes.front().link, spec.rate, one);
  std::vector<VertexId> routers;
  for (int group = 0; group < groups; ++group)
    for (int r = 0; r < spec.group; ++r) {
      routers.push_back(builder.add_vertex(fmt::format("fabric.group{}.router{}", group, r)));
      for (int earlier = 0; earlier < r; ++earlier)
        builder.join(routers[size_of(group * spec.group + earlier)], routers.back(), local);
    }
  for (std::size_t n = 0; n < nodes.size(); ++n) join_nics(nodes[n], routers[n / size_of(spec.leaf)], builder);
  if (groups < 2) return;
  LinkClass between = one;
  between.nominal *= static_cast<double>(per_group) / (groups - 1);
  between.bandwidth *= static_cast<double>(per_group) / (groups - 1);
  join_groups(groups, spec.group, routers, switch_link(one, spec.global_rate, between), builder);
}

}  // namespace trainyard
