// Small traces whose time is worked out by hand, and what the program says of them.
#include <catch2/catch.hpp>

#include "sim/cost/collective_time.hpp"
#include "sim/lowering/collective_group.hpp"
#include "sim/model/execution_trace.hpp"
#include "sim/scenario/scenario.hpp"
#include "tests/replay/trace_fixture.hpp"

using namespace trainyard;
using namespace trainyard::fixture;
using WrittenNode = ChakraText::Node;

namespace {

constexpr std::uint64_t kMebi = 1 << 20;

std::vector<WrittenNode> layer(std::uint64_t first) {
  return {{0, "forward", 4, first, {}, {}, {}},
          ChakraText::collective(1, 0, 64 * kMebi, {0}),
          {2, "backward", 4, 100, {1}, {}, {}}};
}

/// What the cost model says of a collective that nothing disturbs on the first GPUs.
double alone(int nodes, int gpus, const std::string& nic, CollectiveKind kind, double bytes) {
  const Scenario scenario =
      load_scenario_text("cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: " + std::to_string(gpus) +
                             ", count: " + std::to_string(nodes) + ", nics: 8, nic: " + nic +
                             "}], fabric: {kind: star}}\nworkload: {model: llama-2-7b, sequence_length: 8, "
                             "global_batch: 8}\nstrategies: [megatron]\n",
                         "s.yaml", ".");
  const Cluster& cluster = scenario.variants[0].cluster;
  const Router router(cluster);
  const CollectiveGroup group = collective_group(cluster, router, cluster.gpus(), kind);
  return collective_cost(group.shape, cluster.transports[index(group.transport)], Bytes(bytes))
      .alone(group.shape.ring_rate)
      .value;
}

}  // namespace

TEST_CASE("an exchange starts when its last member comes, and takes what the cost model says") {
  const TraceFolder folder;
  folder.write_chakra({layer(50), layer(300)});
  const Replay made = replay(folder, {.gpus = 2});
  const double exchange = alone(1, 2, "200 Gbps", CollectiveKind::all_reduce, 64.0 * kMebi);
  CHECK(made.step() == Approx(300e-6 + exchange + 100e-6));
  const ReplayReport& report = *made.result.replay;
  CHECK(report.ranks[0].exposed.value == Approx(exchange));
  CHECK(report.ranks[0].idle.value == Approx(250e-6));
  CHECK(report.ranks[1].idle.value == Approx(0).margin(1e-12));
  for (const ReplayRank& rank : report.ranks)
    CHECK((rank.computing + rank.exposed + rank.host + rank.idle).value == Approx(made.step()));
}

TEST_CASE("twice the network: the exchange between nodes takes less, computing as long as before") {
  const TraceFolder folder;
  folder.write_chakra({layer(50), layer(50)});
  for (const char* nic : {"200 Gbps", "400 Gbps"}) {
    const Replay made = replay(folder, {.gpus = 1, .nodes = 2, .nic = nic});
    CHECK(made.step() == Approx(150e-6 + alone(2, 1, nic, CollectiveKind::all_reduce, 64.0 * kMebi)));
  }
}

TEST_CASE("one file for all ranks is what files of their own are") {
  const TraceFolder one, all;
  one.write_chakra({layer(50)});
  all.write_chakra(std::vector<std::vector<WrittenNode>>(16, layer(50)));
  const Replay single = replay(one, {.more = ", ranks: 16", .nodes = 2}), every = replay(all, {.nodes = 2});
  CHECK(single.step() == Approx(every.step()).epsilon(1e-9));
  CHECK(single.result.step.gpus == 16);
  CHECK(single.result.replay->ranks.size() == 1);
  CHECK(every.result.replay->ranks.size() == 16);
}

TEST_CASE("sends pass what has been computed on, and receives need not be waited for") {
  const auto send = [](std::uint64_t id, std::uint64_t to, std::vector<std::uint64_t> after) {
    return WrittenNode{id,
                       "send",
                       5,
                       0,
                       std::move(after),
                       {},
                       {ChakraText::integer("comm_dst", to, 7), ChakraText::integer("comm_tag", 0, 7),
                        ChakraText::integer("comm_size", kMebi)}};
  };
  const auto receive = [](std::uint64_t id, std::uint64_t from, std::vector<std::uint64_t> after) {
    return WrittenNode{id,
                       "receive",
                       6,
                       0,
                       std::move(after),
                       {},
                       {ChakraText::integer("comm_src", from, 7), ChakraText::integer("comm_tag", 0, 7),
                        ChakraText::integer("comm_size", kMebi)}};
  };
  // each sends first and receives then, in a ring: with sends that waited for their receivers nobody would ever go on
  const TraceFolder ring;
  ring.write_chakra({{send(0, 1, {}), receive(1, 1, {0})}, {send(0, 0, {}), receive(1, 0, {0})}});
  const Replay made = replay(ring, {.gpus = 2});
  CHECK(made.error.empty());
  CHECK(made.result.replay->exchanges == 2);
  const TraceFolder lonely;
  lonely.write_chakra({{send(0, 1, {}), send(1, 1, {})}, {receive(4, 0, {})}});
  CHECK(replay(lonely, {.gpus = 2}).error ==
        "t.0.et: node 1 of rank 0 (send): from rank 0 to rank 1 with tag 0 there are 2 sends and 1 receives; each "
        "needs its other half");
}

TEST_CASE("ranks that wait for each other in a circle are named") {
  const auto exchange = [](std::uint64_t id, const std::string& group, std::vector<std::uint64_t> after) {
    WrittenNode node = ChakraText::collective(id, 0, 1024, std::move(after));
    node.attributes.push_back(ChakraText::text("comm_group", group));
    return node;
  };
  const TraceFolder folder;
  folder.write("groups.json", "{\"a\": [0, 1], \"b\": [0, 1]}");
  folder.write_chakra({{exchange(1, "a", {}), exchange(2, "b", {1})}, {exchange(1, "b", {}), exchange(2, "a", {1})}});
  const Replay made =
      replay(folder, {.more = ", format: chakra, groups: \"" + folder.path() + "/groups.json\"", .gpus = 2});
  CHECK(made.error ==
        "deadlock: these nodes wait for each other: t.0.et: node 1 of rank 0 (exchange); t.1.et: node 1 of rank 1 "
        "(exchange); ranks must exchange in one order");
  CHECK(made.result.user_error);
}

TEST_CASE("computing scaled to another GPU: by memory bandwidth, products by their peaks") {
  const TraceFolder folder;
  folder.write_chakra({{{0, "norm", 4, 100, {}, {}, {}}}});
  const Replay made =
      replay(folder, {.more = ", compute: scaled, recorded_on: A100-SXM4-80GB", .gpu = "H100-SXM5-80GB"});
  CHECK(made.step() == Approx(100e-6 * 2039e9 / 3350e9).epsilon(1e-9));  // GB/s of the two (data sheets)
  CHECK(replay(folder, {.more = ", compute: scaled"})
            .error.find("the trace does not say on which GPU it was recorded: give `recorded_on`") !=
        std::string::npos);
}

TEST_CASE("computing from the cost model: where a node says operations or bytes") {
  const TraceFolder folder;
  folder.write_chakra({{{0, "copy", 4, 5, {}, {}, {ChakraText::integer("tensor_size", 1000000000)}},
                        {1, "unknown", 4, 7, {0}, {}, {}}}});
  const Replay made = replay(folder, {.more = ", compute: model"});
  CHECK(made.step() > 1e9 / 2039e9 + 7e-6);
  CHECK(made.step() < 1e9 / (0.5 * 2039e9) + 20e-6);
  CHECK(made.result.remarks.back() ==
        "computing of 1 nodes is from the cost model, of 1 that say neither operations nor bytes as recorded");
}

TEST_CASE("keys that a trace leaves no room for") {
  const TraceFolder folder;
  folder.write_chakra({layer(50)});
  CHECK(replay(folder, {.more = ", model: llama-2-7b"})
            .error.find("workload.model: a trace says itself what is run: take this key away") != std::string::npos);
  CHECK(replay(folder, {.more = ", lenient: 3"}).error.find("workload.lenient") != std::string::npos);
}

TEST_CASE("a trace against itself: what its exchanges really took is listed") {
  const TraceFolder folder;
  const auto events = [](int exchange) {
    return "{\"distributedInfo\": {\"rank\": 0, \"world_size\": 2}, \"traceEvents\": [{\"ph\": \"X\", \"cat\": "
           "\"kernel\", \"name\": \"gemm\", \"ts\": 100, \"dur\": 40, \"args\": {\"stream\": 7}},"
           "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"ts\": 140, \"dur\": " +
           std::to_string(exchange) +
           ", \"args\": {\"stream\": 9, \"correlation\": 5, \"Collective name\": \"allreduce\", \"In msg nelems\": "
           "1048576, \"dtype\": \"Float\", \"Group size\": 2, \"Process Group Ranks\": \"[0, 1]\"}}]}";
  };
  folder.write("trace_0.json", events(5000));
  const Replay made = replay(folder.path() + "/trace_0.json", {.gpus = 2, .against = folder.path() + "/trace_0.json"});
  REQUIRE(made.error.empty());
  const ReplayComparison& against = made.result.replay->against.value();
  CHECK(against.matched == 2);
  CHECK(against.unmatched_recorded == 0);
  CHECK(against.recorded_step.value == Approx(5040e-6));
  CHECK(against.recorded_computing == against.simulated_computing);
  CHECK(against.worst.front().name == "ncclDevKernel_AllReduce");
  CHECK(against.worst.front().recorded.value == Approx(5000e-6));
  CHECK(against.worst.front().simulated.value ==
        Approx(alone(1, 2, "200 Gbps", CollectiveKind::all_reduce, 4.0 * kMebi)));
  CHECK(made.result.replay->recorded_step->value == Approx(5040e-6));
}
