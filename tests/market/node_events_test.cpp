// From a market to who is there when: records, processes, notice, booting, failures, prices. Every expectation by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/model/node_events.hpp"
#include "sim/units/error.hpp"

using namespace trainyard;

namespace {

Cluster nodes(int count, MarketKind market = MarketKind::spot, const std::string& zone = "") {
  Cluster cluster;
  for (int i = 0; i < count; ++i) {
    Node node;
    node.group = "v100";
    node.zone = zone;
    node.market = market;
    node.price = 3.6_usd_per_h;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

Market with(Availability source) {
  Market market;
  market.availability.emplace("v100", std::move(source));
  return market;
}

std::vector<int> ids(const std::vector<NodeId>& nodes) {
  std::vector<int> all;
  for (const NodeId node : nodes) all.push_back(static_cast<int>(node));
  return all;
}

using Ids = std::vector<int>;

LevelTrace levels(std::vector<NodeLevel> levels, Seconds length, AfterEnd after_end, Victims victims = Victims::newest) {
  return {std::move(levels), length, after_end, victims};
}

/// Time-average of the nodes that are there.
double mean_nodes(const NodeEvents& events) { return usable_time(events) / events.end; }

}  // namespace

TEST_CASE("without availability every node is there from the start to the end") {
  const NodeEvents events = node_events({}, nodes(3), 100_s, 1);
  REQUIRE(events.spans.size() == 3);
  REQUIRE(events.instants.size() == 1);
  CHECK(ids(events.instants[0].ready) == Ids{0, 1, 2});
  CHECK(events.spans[2] == NodeSpan{NodeId(2), 0_s, 0_s, 100_s, 100_s, SpanEnd::held});
  CHECK(usable_time(events) == 300_s);
}

TEST_CASE("availability is for spot nodes only") {
  const Market market = with(levels({{0_s, 0}}, 0_s, AfterEnd::hold));
  CHECK(node_events(market, nodes(2), 10_s, 1).spans.empty());
  CHECK(node_events(market, nodes(2), 10_s, 1).instants.empty());
  CHECK(usable_time(node_events(market, nodes(2, MarketKind::on_demand), 10_s, 1)) == 20_s);
  CHECK(usable_time(node_events(market, nodes(2, MarketKind::reserved), 10_s, 1)) == 20_s);
}

TEST_CASE("levels close the newest nodes and open the lowest ones") {
  Market market = with(levels({{0_s, 2}, {10_s, 4}, {20_s, 1}, {30_s, 9}}, 40_s, AfterEnd::hold));
  const NodeEvents events = node_events(market, nodes(4), 100_s, 1);
  REQUIRE(events.instants.size() == 4);
  CHECK(ids(events.instants[1].ready) == Ids{2, 3});
  CHECK(events.instants[2].at == 20_s);
  CHECK(ids(events.instants[2].lost) == Ids{1, 2, 3});
  CHECK(ids(events.instants[3].ready) == Ids{1, 2, 3});
  CHECK(usable_time(events).value == Approx(2 * 10 + 4 * 10 + 1 * 10 + 4 * 70));
  CHECK(preemptions(events) == 3);
}

TEST_CASE("a record ends, holds or starts again") {
  const std::vector<NodeLevel> record{{0_s, 1}, {10_s, 3}};
  const NodeEvents stopped = node_events(with(levels(record, 20_s, AfterEnd::stop)), nodes(3), 45_s, 1);
  CHECK(stopped.end == 20_s);
  CHECK(usable_time(stopped) == 40_s);
  CHECK(usable_time(node_events(with(levels(record, 20_s, AfterEnd::hold)), nodes(3), 45_s, 1)) == Seconds(10 + 3 * 35));
  const NodeEvents looped = node_events(with(levels(record, 20_s, AfterEnd::loop)), nodes(3), 45_s, 1);
  CHECK(usable_time(looped) == Seconds(40 + 40 + 5));
  REQUIRE(looped.instants.size() == 5);
  CHECK(ids(looped.instants[2].lost) == Ids{1, 2});
}

TEST_CASE("a record of one line is a constant level, whatever follows it") {
  for (const AfterEnd after_end : {AfterEnd::hold, AfterEnd::loop, AfterEnd::stop}) {
    const NodeEvents events = node_events(with(levels({{0_s, 2}}, 0_s, after_end)), nodes(5), 1000_s, 1);
    CHECK(usable_time(events) == 2000_s);
    CHECK(events.instants.size() == 1);
  }
}

TEST_CASE("victims are drawn by the seed, and a longer horizon adds only to the end") {
  const Market market = with(levels({{0_s, 8}, {10_s, 4}, {20_s, 8}}, 30_s, AfterEnd::loop, Victims::random));
  const NodeEvents one = node_events(market, nodes(8), 300_s, 7), again = node_events(market, nodes(8), 300_s, 7);
  CHECK(one == again);
  CHECK_FALSE(one == node_events(market, nodes(8), 300_s, 8));
  const NodeEvents longer = node_events(market, nodes(8), 600_s, 7);
  REQUIRE(longer.instants.size() > one.instants.size());
  CHECK(std::equal(one.instants.begin(), one.instants.end(), longer.instants.begin()));
}

TEST_CASE("named instances take places, and those beyond wait for one") {
  const InstanceTrace trace{{{0_s, true, 0}, {0_s, true, 1}, {0_s, true, 2}, {10_s, false, 0}, {20_s, false, 2}}, 30_s, AfterEnd::hold};
  const NodeEvents events = node_events(with(trace), nodes(2), 40_s, 1);
  REQUIRE(events.instants.size() == 3);
  CHECK(ids(events.instants[0].ready) == Ids{0, 1});
  CHECK(ids(events.instants[1].lost) == Ids{0});   // its place goes to instance 2, which has to join anew
  CHECK(ids(events.instants[1].ready) == Ids{0});
  CHECK(ids(events.instants[2].lost) == Ids{0});
  CHECK(usable_time(events) == Seconds(40 + 20));
}

TEST_CASE("when a record of instances starts again, who is there stays as far as its first instant goes") {
  const InstanceTrace trace{{{0_s, true, 0}, {0_s, true, 1}, {5_s, true, 2}}, 10_s, AfterEnd::loop};
  const NodeEvents events = node_events(with(trace), nodes(4), 20_s, 1);
  REQUIRE(events.instants.size() == 4);
  CHECK(events.instants[2].at == 10_s);
  CHECK(ids(events.instants[2].lost) == Ids{2});
  CHECK(events.instants[2].ready.empty());
  const InstanceTrace late{{{5_s, true, 0}}, 10_s, AfterEnd::loop};
  CHECK(usable_time(node_events(with(late), nodes(1), 20_s, 1)) == 10_s);
}

TEST_CASE("notice comes before a loss, booting after capacity, and who is lost while booting was paid and never ready") {
  Market market = with(levels({{0_s, 2}, {100_s, 0}, {200_s, 2}, {225_s, 1}, {400_s, 0}}, 500_s, AfterEnd::hold));
  market.notice = {{"v100", 30_s}};
  market.acquire = 10_s;
  market.boot = 20_s;
  const NodeEvents events = node_events(market, nodes(2), 500_s, 1);
  REQUIRE(events.spans.size() == 4);
  CHECK(events.spans[0] == NodeSpan{NodeId(0), 0_s, 0_s, 70_s, 100_s, SpanEnd::preempted});
  CHECK(events.spans[2] == NodeSpan{NodeId(0), 210_s, 230_s, 370_s, 400_s, SpanEnd::preempted});
  CHECK(events.spans[3] == NodeSpan{NodeId(1), 210_s, 230_s, 225_s, 225_s, SpanEnd::preempted});
  REQUIRE(events.instants.size() == 6);
  CHECK(ids(events.instants[1].noticed) == Ids{0, 1});
  CHECK(ids(events.instants[2].lost) == Ids{0, 1});
  CHECK(ids(events.instants[3].ready) == Ids{0});
  CHECK(events.instants[4].at == 370_s);
  CHECK(preemptions(events) == 4);
}

TEST_CASE("everybody lost at one instant is one instant") {
  const NodeEvents events = node_events(with(levels({{0_s, 64}, {10_s, 0}}, 20_s, AfterEnd::hold)), nodes(64), 3600_s, 1);
  REQUIRE(events.instants.size() == 2);
  CHECK(events.instants[1].lost.size() == 64);
}

TEST_CASE("exponential times give the share up / (up + down) and as many losses as the rate says") {
  const Market market = with(WeibullProcess{8_s, 2_s, 1, 1});
  const NodeEvents events = node_events(market, nodes(200), 2000_s, 3);
  CHECK(mean_nodes(events) == Approx(160).epsilon(0.01));  // 40,000 cycles
  CHECK(preemptions(events) == Approx(200 * 2000 / 10.0).epsilon(0.015));
}

TEST_CASE("Weibull times have the mean that is asked for and the spread of their shape") {
  const NodeEvents events = node_events(with(WeibullProcess{10_s, 0_s, 2, 1}), nodes(100), 10000_s, 5);
  double sum = 0, squares = 0;
  int count = 0;
  for (const NodeSpan& span : events.spans) {
    if (span.end == SpanEnd::held) continue;
    const double length = (span.until - span.acquired).value;
    sum += length, squares += length * length, ++count;
  }
  const double mean = sum / count, variance = squares / count - mean * mean;
  CHECK(mean == Approx(10).epsilon(0.01));
  // Weibull: Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1, here 4/pi - 1
  CHECK(variance / (mean * mean) == Approx(4 / std::acos(-1) - 1).epsilon(0.03));
}

TEST_CASE("a burst takes its share of a zone at once and gives it back at once") {
  Cluster cluster = nodes(4, MarketKind::spot, "a");
  for (const Node& node : nodes(4, MarketKind::spot, "b").nodes) cluster.nodes.push_back(node);
  const NodeEvents events = node_events(with(BurstProcess{100_s, 20_s, 0.5}), cluster, 100000_s, 2);
  int bursts = 0;
  for (const NodeInstant& instant : events.instants) {
    if (instant.lost.empty()) continue;
    const bool in_a = index(instant.lost.front()) < 4;
    for (const NodeId node : instant.lost) CHECK((index(node) < 4) == in_a);
    CHECK(instant.lost.size() <= 2);
    ++bursts;
  }
  CHECK(bursts == Approx(2 * 100000 / 100.0).epsilon(0.1));
}

TEST_CASE("a Markov chain holds each level for its mean time") {
  MarkovProcess chain{{{4, 30_s, {{0, 1}}}, {0, 10_s, {{4, 0.5}, {2, 0.5}}}, {2, 20_s, {{0, 1}}}}, Victims::newest};
  const NodeEvents events = node_events(with(chain), nodes(4), 500000_s, 4);
  // half of the cycles hold 4 for 30 s, half hold 2 for 20 s, each after 10 s of none: (4*30 + 2*20) / (30 + 20 + 2*10)
  CHECK(mean_nodes(events) == Approx(160 / 70.0).epsilon(0.02));
  CHECK(events.instants[0].ready.size() == 4);
}

TEST_CASE("hardware fails at its rate on nodes of every market, without notice") {
  Market market;
  market.notice = {{"v100", 5_s}};
  market.failures.emplace("v100", HardwareFailures{100_s, 0_s, "scenario"});
  const NodeEvents events = node_events(market, nodes(50, MarketKind::on_demand), 20000_s, 9);
  const auto failed = std::count_if(events.spans.begin(), events.spans.end(), [](const NodeSpan& s) { return s.end == SpanEnd::failed; });
  CHECK(double(failed) == Approx(50 * 20000 / 100.0).epsilon(0.04));
  CHECK(preemptions(events) == 0);
  for (const NodeInstant& instant : events.instants) CHECK(instant.noticed.empty());
  CHECK(usable_time(events).value == Approx(50 * 20000.0));
  market.failures["v100"].repair = 100_s;
  CHECK(usable_time(node_events(market, nodes(50, MarketKind::on_demand), 20000_s, 9)).value == Approx(25 * 20000.0).epsilon(0.03));
}

TEST_CASE("a process that would never end is refused") {
  CHECK_THROWS_AS(node_events(with(WeibullProcess{Seconds(1e-9), 0_s, 1, 1}), nodes(1), Seconds(1e9), 1), UserError);
  CHECK_THROWS_AS(node_events(with(levels({{0_s, 1}}, Seconds(1e-9), AfterEnd::loop)), nodes(1), Seconds(1e9), 1), UserError);
}

TEST_CASE("a price holds until the next one, and the series again if it loops") {
  const std::vector<PriceStep> steps{{10_s, DollarsPerSecond(2)}, {20_s, DollarsPerSecond(5)}};
  const PriceSeries once(steps, 30_s, false), loop(steps, 30_s, true);
  CHECK(once.at(0_s) == DollarsPerSecond(2));
  CHECK(once.at(20_s) == DollarsPerSecond(5));
  CHECK(once.at(1000_s) == DollarsPerSecond(5));
  CHECK(loop.at(30_s) == DollarsPerSecond(2));
  CHECK(loop.at(50_s) == DollarsPerSecond(5));
  CHECK(once.cost(5_s, 25_s).value == Approx(2 * 15 + 5 * 5));
  CHECK(loop.cost(25_s, 85_s).value == Approx(5 * 5 + (2 * 20 + 5 * 10) + 2 * 20 + 5 * 5));
  CHECK(once.next_change(0_s) == 10_s);
  CHECK(once.next_change(10_s) == 20_s);
  CHECK(std::isinf(once.next_change(20_s).value));
  CHECK(loop.next_change(20_s) == 30_s);
  CHECK(loop.next_change(30_s) == 40_s);
  CHECK(PriceSeries(DollarsPerSecond(3)).cost(1_s, 4_s).value == Approx(9));
}

TEST_CASE("a node is billed by full periods, at least the minimum") {
  CHECK(Billing{}.billed_until(10_s, 17_s) == 17_s);
  CHECK((Billing{3600_s, 0_s}.billed_until(10_s, 20_s)) == 3610_s);
  CHECK((Billing{1_s, 60_s}.billed_until(0_s, 5_s)) == 60_s);
  Market market;
  market.billing = {3600_s, 0_s};
  market.prices.emplace("v100", PriceSeries({{0_s, 1.0_usd_per_h}, {3600_s, 2.0_usd_per_h}}, 7200_s, false));
  const Cluster spot = nodes(1), on_demand = nodes(1, MarketKind::on_demand);
  CHECK(bill(market, spot.nodes[0], 0_s, 5400_s).value == Approx(1 + 2));
  CHECK(bill(market, on_demand.nodes[0], 0_s, 5400_s).value == Approx(7.2));
}
