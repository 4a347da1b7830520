#include "sim/lowering/colour_refinement.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace trainyard;

using Classes = std::vector<int>;
using Arcs = std::vector<LabelledArc>;

TEST_CASE("a path splits by the distance from its ends, one vertex a round") {
  const Classes classes = refine_colours({0, 0, 0, 0, 0}, {{0, 1, 1}, {2, 1, 1}, {2, 3, 1}, {4, 3, 1}});
  CHECK(classes[0] == classes[4]);
  CHECK(classes[1] == classes[3]);
  CHECK(std::set<int>(classes.begin(), classes.end()).size() == 3);
}

TEST_CASE("a ring stays whole, however long; a vertex of another colour splits it by the distance from there") {
  constexpr int kSize = 1000;
  Arcs ring;
  for (int i = 0; i < kSize; ++i) ring.push_back({i, (i + 1) % kSize, 1});
  std::vector<std::uint64_t> colours(kSize, 7);
  const Classes whole = refine_colours(colours, ring);
  CHECK(std::set<int>(whole.begin(), whole.end()).size() == 1);
  colours[0] = 8;
  const Classes split = refine_colours(colours, ring);  // the arcs have a direction: no two vertices are alike
  CHECK(std::set<int>(split.begin(), split.end()).size() == kSize);
}

TEST_CASE("labels and directions of arcs count, vertices without arcs stay apart from those with") {
  const Classes classes = refine_colours({0, 0, 0, 0, 0, 0}, {{0, 1, 1}, {2, 3, 2}});
  CHECK(classes[4] == classes[5]);
  CHECK(std::set<int>(classes.begin(), classes.end()).size() == 5);
}
