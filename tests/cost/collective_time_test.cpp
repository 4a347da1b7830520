#include "sim/cost/collective_time.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/units/error.hpp"

using namespace trainyard;

namespace {

CollectiveShape shape(CollectiveKind kind, int members, Algorithm algorithm = Algorithm::automatic) {
  CollectiveShape made;
  made.kind = kind;
  made.members = made.hops = members;
  made.ring_rate = 100_GBps;
  made.algorithm = algorithm;
  return made;
}

/// 4 nodes of 8 with 8 rings between them.
CollectiveShape between_nodes(Algorithm algorithm) {
  CollectiveShape made = shape(CollectiveKind::all_reduce, 32, algorithm);
  made.hops = 4;
  made.rings = 8;
  made.inside = InnerGroup{8, 200_GBps, {}};
  return made;
}

/// One protocol.
AlgorithmTimes times(Seconds setup, Seconds step, double rate = 1) {
  AlgorithmTimes made;
  made.protocols = {Protocol{"", {setup, step, {}, {}, rate}, std::nullopt}};
  return made;
}

/// A ring with dear steps and a tree and a switch with cheap ones.
Transport with_all() {
  Transport transport;
  transport.name = "test";
  transport.ring = times(5_us, 2_us);
  transport.tree = times(10_us, 1.5_us, 0.9);
  transport.in_network = times(20_us, 0.5_us, 0.8);
  transport.exchange = times(7_us, 1_us, 0.5);
  return transport;
}

double alone(const CollectiveShape& s, const Transport& transport, Bytes size) {
  return collective_cost(s, transport, size).alone(s.ring_rate).value;
}

Approx exactly(double value) { return Approx(value).epsilon(1e-9); }

}  // namespace

TEST_CASE("bytes on the wire follow the ring algorithm") {
  const Transport ideal{};
  CHECK(collective_cost(shape(CollectiveKind::all_reduce, 4), ideal, 400_MB).bytes == 600_MB);
  CHECK(collective_cost(shape(CollectiveKind::reduce_scatter, 4), ideal, 400_MB).bytes == 300_MB);
  CHECK(collective_cost(shape(CollectiveKind::all_gather, 4), ideal, 400_MB).bytes == 300_MB);
  CHECK(collective_cost(shape(CollectiveKind::broadcast, 4), ideal, 400_MB).bytes == 400_MB);
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
  // x = 700 MB / 100 GB/s = 7 ms.
  CHECK(cost.delay.value == exactly(8e-6 + 7 * 2e-6 + std::sqrt(7e-3 * 25e-6)));
  // One way only: half as many steps.
  CHECK(collective_cost(shape(CollectiveKind::all_gather, 8), transport, Bytes(0)).delay.value == exactly(8e-6 + 3.5 * 2e-6));
}

TEST_CASE("slow wires replace the fitted step when they are slower") {
  Transport transport{};
  transport.step = 2_us;
  CollectiveShape far = shape(CollectiveKind::all_reduce, 3);
  far.hop_latency = 10_ms;
  CHECK(collective_cost(far, transport, Bytes(0)).delay.value == Approx(40e-3));
}

TEST_CASE("closed forms of the all-reduce algorithms") {
  const Transport transport = with_all();
  const double ring = 5e-6 + std::hypot(14 * 2e-6, 14e-3), tree = 10e-6 + std::hypot(6 * 1.5e-6, 20e-3);
  CHECK(alone(shape(CollectiveKind::all_reduce, 8, Algorithm::ring), transport, 800_MB) == exactly(ring));
  CHECK(alone(shape(CollectiveKind::all_reduce, 8, Algorithm::tree), transport, 900_MB) == exactly(tree));
  CHECK(alone(shape(CollectiveKind::all_reduce, 2, Algorithm::tree), transport, 900_MB) == exactly(10e-6 + std::hypot(3e-6, 10e-3)));
  // Each port: its part to the switch and the sum back, and both for its own eighth: 9/8 of the size each way.
  const double in_network = 20e-6 + std::hypot(1e-6, 9e-3 / 0.8);
  CHECK(alone(shape(CollectiveKind::all_reduce, 8, Algorithm::in_network), transport, 800_MB) == exactly(in_network));
}

TEST_CASE("messages inside nodes, and the ramp") {
  Transport transport;
  transport.ring = times(5_us, 2_us);
  transport.ring->protocols[0].times.inner = 1_us;
  transport.ring->protocols[0].times.ramp = 9_us;
  // 4 nodes of 8: 6 messages between nodes, 56 inside; 2 x 31/32 x 320 MB over 8 rings of 100 GB/s take 775 us.
  const double x = 775e-6;
  CHECK(alone(between_nodes(Algorithm::ring), transport, 320_MB) == exactly(5e-6 + std::hypot(68e-6, x) + std::sqrt(x * 9e-6)));
  CHECK(alone(between_nodes(Algorithm::ring), transport, Bytes(0)) == exactly(73e-6));
  transport.tree = transport.ring;
  CHECK(alone(between_nodes(Algorithm::tree), transport, Bytes(0)) == exactly(5e-6 + 4 * 2e-6 + 14 * 1e-6));
}

TEST_CASE("a library takes the protocol that it expects to be fastest, which need not be") {
  Transport transport;
  AlgorithmTimes ring = times(5_us, 0_us, 0.5);
  ring.protocols[0].name = "ll";
  ring.protocols[0].expected = Expectation{{5_us, {}, {}, {}, 0.25}, {}};
  ring.protocols.push_back({"simple", {100_us, {}, {}, {}, 1}, Expectation{{10_us, {}, {}, {}, 1}, {}}});
  transport.ring = ring;
  const auto protocol = [&](Bytes size) { return collective_cost(shape(CollectiveKind::all_gather, 2), transport, size).protocol; };
  // Expected: 5 us + 2 size / 100 GB/s against 10 us + size / 200 GB/s: equal at 333 kB. True: 5 us + size / 100 GB/s is faster to 19 MB.
  CHECK(protocol(Bytes(330e3)) == "ll");
  CHECK(protocol(Bytes(340e3)) == "simple");
  transport.ring->protocols[0].expected->by_size = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.25};  // from 64 B x 2^11 = 131 kB on
  CHECK(protocol(Bytes(130e3)) == "ll");
  CHECK(protocol(Bytes(140e3)) == "simple");
  transport.ring->protocols[0].expected = std::nullopt;
  CHECK(protocol(Bytes(340e3)) == "ll");
  CHECK(protocol(20_MB) == "simple");
}

TEST_CASE("staged in host memory, all members share one way") {
  Transport transport;
  transport.ring = times(0_us, 0_us, 0.5);
  transport.ring->shared = true;
  CHECK(collective_cost(shape(CollectiveKind::all_gather, 4), transport, 400_MB).bytes == 2400_MB);  // 4 x 300 MB / 0.5
}

TEST_CASE("hierarchical: inside, between, inside") {
  const Transport transport = with_all();
  const double inside = 2 * (800e6 * 7 / 8 / 200e9);
  const double between = 5e-6 + std::hypot(6 * 2e-6, 2 * 3.0 / 4 * 800e6 / 8 / 100e9);
  CHECK(alone(between_nodes(Algorithm::hierarchical), transport, 800_MB) == exactly(inside + between));
}

TEST_CASE("switches between nodes: the size once, at the pace of the inside if that is slower") {
  Transport transport = with_all();
  const double x = 2 * 7.0 / 8 * 800e6 / 200e9 / 0.8;
  CHECK(alone(between_nodes(Algorithm::in_network), transport, 800_MB) == exactly(20e-6 + std::hypot(1e-6, x)));
  CollectiveShape fast = between_nodes(Algorithm::in_network);
  fast.inside->rate = 10000_GBps;
  CHECK(alone(fast, transport, 800_MB) == exactly(20e-6 + std::hypot(1e-6, 1e-3 / 0.8)));
}

TEST_CASE("all-to-all: what leaves a port, and what leaves a node") {
  Transport transport = with_all();
  CHECK(alone(shape(CollectiveKind::all_to_all, 4), transport, 400_MB) == exactly(7e-6 + std::hypot(3e-6, 3e-3 / 0.5)));
  transport.exchange->own = 0.5;  // and half of the quarter that stays
  CHECK(collective_cost(shape(CollectiveKind::all_to_all, 4), transport, 400_MB).bytes == 700_MB);
  CollectiveShape nodes = between_nodes(Algorithm::automatic);
  nodes.kind = CollectiveKind::all_to_all;
  CHECK(collective_cost(nodes, Transport{}, 320_MB).bytes == 240_MB);  // 8 members x 240 MB over 8 ways out
}

TEST_CASE("the fastest that the transport has, by size and members") {
  const Transport transport = with_all();
  const auto chosen = [&](int members, Bytes size) {
    return collective_cost(shape(CollectiveKind::all_reduce, members), transport, size).algorithm;
  };
  CHECK(chosen(2, Bytes(1000)) == Algorithm::ring);
  CHECK(chosen(8, Bytes(1000)) == Algorithm::tree);
  CHECK(chosen(8, 1_GB) == Algorithm::in_network);
  Transport asked = transport;
  asked.in_network->on_request = true;
  CHECK(collective_cost(shape(CollectiveKind::all_reduce, 8), asked, 1_GB).algorithm == Algorithm::ring);
  asked = transport;
  asked.in_network->from = 9;
  CHECK(collective_cost(shape(CollectiveKind::all_reduce, 8), asked, 1_GB).algorithm == Algorithm::ring);
}

TEST_CASE("what a transport cannot do is refused by name") {
  Transport plain;
  plain.name = "ethernet";
  CHECK_THROWS_WITH(collective_cost(shape(CollectiveKind::all_reduce, 8, Algorithm::in_network), plain, 1_MB),
                    "no in-network all-reduce over ethernet");
  CHECK_THROWS_WITH(collective_cost(shape(CollectiveKind::all_reduce, 8, Algorithm::hierarchical), plain, 1_MB),
                    "no hierarchical all-reduce over ethernet: it takes several nodes with equally many devices");
}

TEST_CASE("more bytes and more members never take less time") {
  const Transport transport = with_all();
  for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                          CollectiveKind::broadcast, CollectiveKind::all_to_all})
    for (int members = 3; members <= 512; members *= 2)
      for (double size = 1024; size < 1e10; size *= 3) {
        const double time = alone(shape(kind, members), transport, Bytes(size));
        CHECK(alone(shape(kind, members), transport, Bytes(size * 3)) >= time);
        // In-network reduction alone moves less for each member the more there are.
        Transport wires = transport;
        wires.in_network = std::nullopt;
        CHECK(alone(shape(kind, members * 2), wires, Bytes(size)) >= alone(shape(kind, members), wires, Bytes(size)));
      }
}
