#include "sim/cost/collective_uneven.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;

namespace {

CollectiveShape gather(int members) {
  CollectiveShape made;
  made.kind = CollectiveKind::all_gather;
  made.members = made.hops = members;
  made.ring_rate = 100_GBps;
  return made;
}

Approx exactly(double value) { return Approx(value).epsilon(1e-9); }

}  // namespace

TEST_CASE("bytes by port: own ports, and two members behind each") {
  const SizeMatrix sizes{{9_MB, 1_MB, 2_MB, 3_MB}, {4_MB, 9_MB, 5_MB, 6_MB}, {7_MB, 8_MB, 9_MB, 10_MB}, {11_MB, 12_MB, 13_MB, 9_MB}};
  CHECK(port_bytes(sizes, {0, 1, 2, 3}) ==
        std::vector<PortBytes>{{6_MB, 22_MB}, {15_MB, 21_MB}, {25_MB, 20_MB}, {36_MB, 19_MB}});
  CHECK(port_bytes(sizes, {0, 0, 1, 1}) == std::vector<PortBytes>{{16_MB, 38_MB}, {38_MB, 16_MB}});
  CHECK(exchange_cost(gather(4), Transport{}, sizes).alone(100_GBps).value == exactly(36e6 / 100e9));
}

TEST_CASE("uneven parts, padded and grouped") {
  Transport transport;
  transport.setup = 10_us;
  transport.step = 2_us;
  const std::vector<Bytes> parts{100_MB, 20_MB, 20_MB, 60_MB};
  const double padded = 10e-6 + 3e-6 + 300e6 / 100e9, grouped = 4 * (10e-6 + 3e-6) + 200e6 / 100e9;
  CHECK(uneven_cost(gather(4), transport, parts, Algorithm::padded).alone(100_GBps).value == exactly(padded));
  CHECK(uneven_cost(gather(4), transport, parts, Algorithm::grouped).alone(100_GBps).value == exactly(grouped));
  CHECK(uneven_cost(gather(4), transport, parts, Algorithm::automatic).algorithm == Algorithm::grouped);
  CHECK(uneven_cost(gather(4), transport, {1_MB, 1_MB, 1_MB, 1_MB}, Algorithm::automatic).algorithm == Algorithm::padded);
}
