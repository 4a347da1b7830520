#include "sim/cli/progress.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("time left: what is done goes on at its pace") {
  CHECK(time_left(0, 10, 5).empty());
  CHECK(time_left(10, 10, 5).empty());
  CHECK(time_left(2, 10, 4) == "16 s left");       // 8 of 2 s
  CHECK(time_left(1, 100, 2) == "4 min left");     // 198 s
  CHECK(time_left(1, 10'000, 2) == "5.6 h left");  // 19,998 s
}
