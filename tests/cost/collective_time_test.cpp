#include <catch2/catch.hpp>

#include "sim/cost/collective_time.hpp"

using namespace trainyard;

namespace {

CollectiveShape shape(CollectiveKind kind, int members) {
  CollectiveShape made;
  made.kind = kind;
  made.members = made.hops = members;
  made.ring_rate = 100_GBps;
  return made;
}

}  // namespace

TEST_CASE("bytes on the wire follow the ring algorithm") {
  const Transport ideal{};
  CHECK(collective_cost(shape(CollectiveKind::all_reduce, 4), ideal, 400_MB).bytes == 600_MB);
  CHECK(collective_cost(shape(CollectiveKind::reduce_scatter, 4), ideal, 400_MB).bytes == 300_MB);
  CHECK(collective_cost(shape(CollectiveKind::all_gather, 4), ideal, 400_MB).bytes == 300_MB);
  CHECK(collective_cost(shape(CollectiveKind::send, 2), ideal, 400_MB).bytes == 400_MB);
}

TEST_CASE("parallel rings share the bytes") {
  CollectiveShape two = shape(CollectiveKind::all_reduce, 4);
  two.rings = 2;
  CHECK(collective_cost(two, Transport{}, 400_MB).bytes == 300_MB);
}

TEST_CASE("the delay is setup, steps and ramp") {
  Transport transport{};
  transport.setup = 8_us;
  transport.step = 2_us;
  transport.ramp = 25_us;
  const CollectiveCost cost = collective_cost(shape(CollectiveKind::all_reduce, 8), transport, 400_MB);
  // x = 700 MB / 100 GB/s = 7 ms; sqrt(7 ms * 25 us) = 418.33 us.
  CHECK(cost.delay.value == Approx(8e-6 + 7 * 2e-6 + 418.33e-6).epsilon(1e-4));
}

TEST_CASE("slow wires replace the fitted step when they are slower") {
  Transport transport{};
  transport.step = 2_us;
  CollectiveShape far = shape(CollectiveKind::all_reduce, 3);
  far.hop_latency = 10_ms;
  CHECK(collective_cost(far, transport, Bytes(0)).delay.value == Approx(40e-3));
}
