#include "validation/fit/library.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace trainyard::fit {
namespace {

/// Of NCCL's tuning model (NVIDIA/nccl src/graph/tuning.cc, 2.29; the latencies are the same since 2.19).
constexpr double kRingPlateau = 1.4;  // rings of several nodes, simple
struct LibraryLatency { Seconds setup, step, inner; };
constexpr LibraryLatency kRingNvlink[] = {{6.6_us, 0.6_us, 0_us}, {14_us, 1.9_us, 0_us}, {8.4_us, 3.4_us, 0_us}};
constexpr LibraryLatency kRingPcie[] = {{6.6_us, 1_us, 0_us}, {14_us, 2.5_us, 0_us}, {8.4_us, 5.7_us, 0_us}};
constexpr LibraryLatency kRingNetwork[] = {{6.6_us, 2.7_us, 1_us}, {14_us, 4_us, 1.9_us}, {8.4_us, 14_us * kRingPlateau, 3.4_us * kRingPlateau}};
constexpr LibraryLatency kTreeNetwork[] = {{6.8_us, 5_us, 0.6_us}, {14_us, 8.5_us, 1.25_us}, {8.4_us, 14_us, 28_us}};
constexpr double kLowLatencyShare = 0.5, kLowLatency128Share = 0.92, kTreePattern = 0.85, kTreeShare = 0.92 * kTreePattern;
/// Between nodes of 8 GPUs and 8 cards of 200 Gbps (24 GB/s of each), ll on an AMD host.
constexpr BytesPerSecond kNodeRate = 192_GBps, kLowLatencyNetwork = 19_GBps;
/// What its trees reach of its reckoning, for 64 B, 128 B, ..
const std::vector<double> kTreeBySize[] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9}};
constexpr const char* kNames[] = {"ll", "ll128", "simple"};

/// What it takes a class of links for: bandwidth of all rings (src/graph/topo.h: links of 20, 20.6 and 40.1 GB/s; PCIe 4 and 5
/// through a host), most that ll reaches on its GPUs, and whether it lets ll128 run.
struct LibraryLink { BytesPerSecond rate, low_latency; bool has_128; };
const std::map<std::string, LibraryLink> kLinks{{"nvlink3", {240_GBps, 87.7_GBps, true}},
                                                {"nvlink4", {370.8_GBps, 141_GBps, true}},
                                                {"nvlink5", {721.8_GBps, 282_GBps, false}},
                                                {"pcie4", {24_GBps, 12_GBps, false}},
                                                {"pcie4_staged", {24_GBps, 12_GBps, false}},
                                                {"pcie5_bridge", {24_GBps, 12_GBps, false}},
                                                {"pcie5", {24_GBps, 12_GBps, false}}};

const std::string kStaged = "pcie4_staged";

/// The search starts from the library's own latency of a message.
Protocol protocol(int which, const LibraryLatency& latency, double rate, MessageTimes start) {
  start.step = latency.step;
  return {kNames[which], start, Expectation{{latency.setup, latency.step, latency.inner, {}, rate}, {}}};
}

}  // namespace

AlgorithmTimes ring_inside(const std::string& transport, BytesPerSecond rate) {
  const LibraryLink& link = kLinks.at(transport);
  const LibraryLatency* latency = transport.starts_with("pcie") ? kRingPcie : kRingNvlink;
  const double share = link.rate / rate;
  AlgorithmTimes times;
  times.shared = transport == kStaged;
  times.protocols.push_back(protocol(0, latency[0], std::min(kLowLatencyShare * share, link.low_latency / rate), {5_us, 1_us, {}, 1_us, 0.3}));
  if (link.has_128) times.protocols.push_back(protocol(1, latency[1], kLowLatency128Share * share, {8_us, 1.5_us, {}, 5_us, 0.8}));
  times.protocols.push_back(protocol(2, latency[2], share, {15_us, 8_us, {}, 5_us, 1}));
  return times;
}

AlgorithmTimes exchange_inside(const std::string& transport) {
  AlgorithmTimes times;
  times.shared = transport == kStaged;
  times.protocols.push_back({"", {8_us, 1_us, {}, 5_us, 0.9}, std::nullopt});
  times.own = 0.3;
  return times;
}

AlgorithmTimes switch_inside(int from, BytesPerSecond rate, const std::string& transport) {
  AlgorithmTimes times;
  const double share = kLinks.at(transport).rate / rate;
  times.protocols.push_back({"", {10_us, 12.5_us, {}, 5_us, 0.9}, Expectation{{{}, 12.5_us, {}, {}, share * 5 / 6 * 9 / 8}, {}}});
  times.from = from;
  return times;
}

Ways ways_between(const std::string& transport, BytesPerSecond rate, const Transport& inside) {
  const Seconds inner = inside.ring->protocols[0].times.step;
  Ways ways;
  if (transport.starts_with("efa")) {
    ways.tree.protocols = {{kNames[0], {60_us, kTreeNetwork[0].step, inner, 5_us, 0.1}, std::nullopt}, {kNames[2], {80_us, kTreeNetwork[2].step, inner, 50_us, 1}, std::nullopt}};
    ways.ring = ways.tree;
    ways.ring_as_tree = true;
    return ways;
  }
  const double share = kNodeRate / rate, low_latency = kLowLatencyNetwork / rate;
  ways.ring.protocols = {protocol(0, kRingNetwork[0], low_latency, {20_us, 4_us, inner, 1_us, 0.1}),
                         protocol(1, kRingNetwork[1], share * kLowLatency128Share, {20_us, 4_us, inner, 5_us, 0.7}),
                         protocol(2, kRingNetwork[2], share, {50_us, 10_us, inner, 5_us, 1})};
  ways.tree.protocols = {protocol(0, kTreeNetwork[0], low_latency * kTreePattern, {10_us, 10_us, inner, 1_us, 0.1}),
                         protocol(1, kTreeNetwork[1], share * kTreeShare * 120 / 128, {20_us, 12_us, inner, 5_us, 0.7}),
                         protocol(2, kTreeNetwork[2], share * kTreeShare, {50_us, 20_us, inner, 5_us, 1})};
  for (std::size_t i = 0; i < ways.tree.protocols.size(); ++i) ways.tree.protocols[i].expected->by_size = kTreeBySize[i];
  return ways;
}

AlgorithmTimes switch_between() {
  AlgorithmTimes times;
  times.protocols.push_back({"", {100_us, 5_us, {}, 5_us, 0.9}, std::nullopt});
  times.on_request = true;
  return times;
}

}  // namespace trainyard::fit
