#include <catch2/catch.hpp>

#include "sim/routing/router.hpp"
#include "sim/units/error.hpp"
#include "tests/routing/small_cluster.hpp"

using namespace trainyard;
using trainyard::testing::SmallCluster;

TEST_CASE("a route is short first, then wide, then low in link ids") {
  SmallCluster s;
  const NodeId node = s.node();
  const DeviceId a = s.device("a", DeviceKind::gpu, node), b = s.device("b", DeviceKind::gpu, node);
  const VertexId narrow = s.vertex("narrow"), wide = s.vertex("wide"), same = s.vertex("same");
  for (VertexId via : {narrow, wide, same}) {
    s.join(s.at(a), via, via == narrow ? 10 : 20, 1);
    s.join(via, s.at(b), via == narrow ? 10 : 20, 2, via == narrow ? 0 : 1);
  }
  const Router router(s.cluster);
  const Route& route = router.route(a, b);
  REQUIRE(route.links == std::vector<LinkId>{LinkId{4}, LinkId{6}});
  REQUIRE(route.bottleneck.value == 20e9);
  REQUIRE(route.latency.value == Approx(3e-6));
  REQUIRE(router.route(b, a).links == std::vector<LinkId>{LinkId{7}, LinkId{5}});
  REQUIRE(&router.route(a, b) == &route);
}

TEST_CASE("parallel links: the first of the widest") {
  SmallCluster s;
  const NodeId node = s.node();
  const DeviceId a = s.device("a", DeviceKind::gpu, node), b = s.device("b", DeviceKind::gpu, node);
  s.one_way(s.at(a), s.at(b), 10);
  s.one_way(s.at(a), s.at(b), 25);
  s.one_way(s.at(a), s.at(b), 25);
  REQUIRE(Router(s.cluster).route(a, b).links == std::vector<LinkId>{LinkId{1}});
}

TEST_CASE("from a device to itself there is nothing to cross") {
  SmallCluster s;
  const DeviceId a = s.device("a", DeviceKind::gpu, s.node());
  const Router router(s.cluster);
  REQUIRE(router.route(a, a).links.empty());
}

TEST_CASE("the transport of a route is its slowest link's") {
  SmallCluster s;
  const NodeId node = s.node();
  const DeviceId a = s.device("a", DeviceKind::gpu, node), b = s.device("b", DeviceKind::gpu, node);
  const VertexId via = s.vertex("via");
  s.join(s.at(a), via, 20, 0, 0);
  s.join(via, s.at(b), 10, 0, 1);
  const Router router(s.cluster);
  REQUIRE(router.transport_of(router.route(a, b)) == TransportId{1});
}

TEST_CASE("GPUs hand on traffic of their node only, hosts none") {
  SmallCluster s;
  const NodeId node = s.node(), other = s.node();
  const DeviceId a = s.device("a", DeviceKind::gpu, node), b = s.device("b", DeviceKind::gpu, node);
  const DeviceId c = s.device("c", DeviceKind::gpu, node), far = s.device("far", DeviceKind::gpu, other);
  const DeviceId cpu = s.device("cpu", DeviceKind::cpu, node);
  s.join(s.at(a), s.at(b), 25);
  s.join(s.at(b), s.at(c), 25);
  s.join(s.at(c), s.at(far), 25);
  s.join(s.at(a), s.at(cpu), 10);
  const Router router(s.cluster);
  REQUIRE(router.route(a, c).links.size() == 2);
  REQUIRE_THROWS_WITH(router.route(a, far), "no path from a to far over the cluster's links");
  REQUIRE_THROWS_AS(router.route(cpu, c), UserError);
}

TEST_CASE("one-way links are not taken backwards") {
  SmallCluster s;
  const NodeId node = s.node();
  const DeviceId a = s.device("a", DeviceKind::gpu, node), b = s.device("b", DeviceKind::gpu, node);
  s.one_way(s.at(a), s.at(b), 10);
  const Router router(s.cluster);
  REQUIRE(router.route(a, b).links.size() == 1);
  REQUIRE_THROWS_WITH(router.route(b, a), "no path from b to a over the cluster's links");
  REQUIRE(router.route(a, b).links.size() == 1);
}
