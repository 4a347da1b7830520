#include "sim/routing/mesh_rings.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace trainyard;

namespace {

using Units = std::vector<std::vector<int>>;

Units symmetric(std::size_t members, const std::vector<std::vector<int>>& pairs) {
  Units units(members, std::vector<int>(members, 0));
  for (const auto& pair : pairs) {
    const auto a = static_cast<std::size_t>(pair[0]), b = static_cast<std::size_t>(pair[1]);
    units[a][b] = units[b][a] = pair[2];
  }
  return units;
}

const std::vector<std::vector<int>> kCubeMesh{{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2},
                                              {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2},
                                              {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1}};

/// Every ring passes every member once and no unit is used twice.
void require_disjoint(Units left, const std::vector<MeshRing>& rings) {
  for (const MeshRing& ring : rings) {
    MeshRing sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < left.size(); ++i) REQUIRE(sorted.at(i) == static_cast<int>(i));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const auto from = static_cast<std::size_t>(ring[i]), to = static_cast<std::size_t>(ring[(i + 1) % ring.size()]);
      REQUIRE(--left[from][to] >= 0);
    }
  }
}

}  // namespace

TEST_CASE("the hybrid cube mesh of 8 holds six rings: every link in both directions") {
  const Units units = symmetric(8, kCubeMesh);
  const auto rings = disjoint_rings(units);
  REQUIRE(rings.size() == 6);
  require_disjoint(units, rings);
}

TEST_CASE("one quad of it holds four rings, as its first member has four links") {
  const Units units = symmetric(4, {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}});
  const auto rings = disjoint_rings(units);
  REQUIRE(rings.size() == 4);
  require_disjoint(units, rings);
}

TEST_CASE("two members have as many rings as links") {
  REQUIRE(disjoint_rings(symmetric(2, {{0, 1, 1}})).size() == 1);
  REQUIRE(disjoint_rings(symmetric(2, {{0, 1, 2}})).size() == 2);
}

TEST_CASE("a triangle with single links has one ring each way") {
  REQUIRE(disjoint_rings(symmetric(3, {{0, 1, 1}, {1, 2, 1}, {0, 2, 2}})).size() == 2);
}

TEST_CASE("without a common cycle there is no ring") {
  REQUIRE(disjoint_rings(symmetric(3, {{0, 1, 2}, {1, 2, 2}})).empty());
  REQUIRE(disjoint_rings(symmetric(2, {})).empty());
  REQUIRE(disjoint_rings({}).empty());
}

TEST_CASE("a one-way cycle is one ring") {
  REQUIRE(disjoint_rings({{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}) == std::vector<MeshRing>{{0, 1, 2}});
}
