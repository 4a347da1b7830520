// Chakra's files as they should be, and as they are: every mistake is one line.
#include <catch2/catch.hpp>

#include "sim/units/error.hpp"
#include "tests/replay/trace_fixture.hpp"
#include "workloads/traces/trace_section.hpp"

using namespace trainyard;
using namespace trainyard::fixture;
using WrittenNode = ChakraText::Node;

namespace {

std::string error_of(const std::vector<std::vector<WrittenNode>>& ranks, const ReplaySetting& setting = {}) {
  const TraceFolder folder;
  folder.write_chakra(ranks);
  return replay(folder, setting).error;
}

const WrittenNode kFirst{0, "first", 4, 10, {}, {}, {}};

}  // namespace

TEST_CASE("a chain of two nodes takes the sum of their times, and the id 0 is left out of the file") {
  const TraceFolder folder;
  folder.write_chakra({{kFirst, {1, "second", 4, 25, {0}, {}, {}}}});
  const Replay made = replay(folder);
  CHECK(made.error.empty());
  CHECK(made.step() == Approx(35e-6));
  REQUIRE(made.result.replay);
  CHECK(made.result.replay->nodes == 2);
  CHECK(made.result.replay->ranks[0].work.value == Approx(35e-6));
  CHECK(made.result.replay->ranks[0].computing.value == Approx(35e-6));
}

TEST_CASE("a file without GlobalMetadata, ids from anywhere, dependencies in the control field, forward references") {
  const TraceFolder folder;
  folder.write("t.0.et",
               ChakraText::node({2151, "b", 4, 7, {}, {2150}, {}}) + ChakraText::node({2150, "a", 4, 5, {}, {}, {}}));
  CHECK(replay(folder).step() == Approx(12e-6));
}

TEST_CASE("independent nodes of a device follow each other, and nodes of the host run beside them") {
  const TraceFolder folder;
  folder.write_chakra({{kFirst,
                        {1, "second", 4, 25, {}, {}, {}},
                        {2, "host", 4, 30, {}, {}, {ChakraText::integer("is_cpu_op", 1, 27)}}}});
  const Replay made = replay(folder);
  CHECK(made.step() == Approx(35e-6));
  CHECK(made.result.replay->ranks[0].host.value == Approx(0));  // hidden by the device's work
}

TEST_CASE("is_cpu_op in any type") {
  for (const std::string& flag : {ChakraText::integer("is_cpu_op", 1, 27), ChakraText::integer("is_cpu_op", 1, 7),
                                  ChakraText::text("is_cpu_op", "True")}) {
    const TraceFolder folder;
    folder.write_chakra({{kFirst, {1, "host", 4, 30, {}, {}, {flag}}}});
    const Replay made = replay(folder);
    CHECK(made.step() == Approx(30e-6));
    CHECK(made.result.replay->ranks[0].host.value == Approx(20e-6));
  }
}

TEST_CASE("the size of an exchange in every field that holds integers, and as text") {
  double first = 0;
  for (const int field : {7, 9, 11, 13, 29}) {
    const TraceFolder folder;
    const std::string size =
        field == 29 ? ChakraText::text("comm_size", "1048576") : ChakraText::integer("comm_size", 1048576, field);
    folder.write_chakra(std::vector<std::vector<WrittenNode>>(
        2, {{0, "exchange", 7, 0, {}, {}, {ChakraText::integer("comm_type", 0), size}}}));
    const Replay made = replay(folder);
    INFO(field);
    REQUIRE(made.error.empty());
    if (first == 0) first = made.step();
    CHECK(made.step() == first);
    CHECK(made.result.replay->exchanges == 1);
    CHECK(made.result.replay->exchanged.value == 1048576);
  }
}

TEST_CASE("dependencies on itself and on nodes that are not there") {
  const std::vector<std::vector<WrittenNode>> itself{{kFirst, {1, "second", 4, 25, {0, 1}, {}, {}}}},
      missing{{kFirst, {1, "second", 4, 25, {0, 77}, {}, {}}}};
  CHECK(error_of(itself) ==
        "t.0.et: node 1: depends on itself; only other nodes are allowed (`lenient: true` drops such dependencies)");
  CHECK(error_of(missing) ==
        "t.0.et: node 1: depends on node 77, which is not in the file; every parent must be there (`lenient: true` "
        "drops such dependencies)");
  const TraceFolder folder;
  folder.write_chakra({{kFirst, {1, "second", 4, 25, {0, 1, 77}, {}, {}}}});
  const Replay made = replay(folder, {.more = ", lenient: true"});
  CHECK(made.step() == Approx(35e-6));
  CHECK(made.result.remarks ==
        std::vector<std::string>{"1 dependencies of a node on itself were dropped",
                                 "1 dependencies on nodes that are not in the file were dropped"});
}

TEST_CASE("cycles: control dependencies may be given up, data may not") {
  const std::vector<std::vector<WrittenNode>> control{{{1, "a", 4, 5, {}, {2}, {}}, {2, "b", 4, 5, {1}, {}, {}}}};
  const std::vector<std::vector<WrittenNode>> data{{{1, "a", 4, 5, {2}, {}, {}}, {2, "b", 4, 5, {1}, {}, {}}}};
  CHECK(error_of(control) ==
        "t.0.et: node 1: waits for itself: 1 after 2 after 1; dependencies must not form a cycle (`lenient: true` "
        "drops control dependencies inside one)");
  CHECK(error_of(data, {.more = ", lenient: true"}) ==
        "t.0.et: node 1: waits for itself: 1 after 2 after 1; dependencies must not form a cycle");
  const TraceFolder folder;
  folder.write_chakra(control);
  const Replay made = replay(folder, {.more = ", lenient: true"});
  CHECK(made.step() == Approx(10e-6));
  CHECK(made.result.remarks == std::vector<std::string>{"1 control dependencies inside cycles were dropped"});
}

TEST_CASE("ids twice, durations below zero, unknown kinds of nodes and of collectives") {
  CHECK(error_of({{kFirst, kFirst}}) ==
        "t.0.et: node 0: the id stands twice in the file; every node needs an id of its own");
  CHECK(error_of({{{3, "n", 4, ~std::uint64_t(0), {}, {}, {}}}})
            .find("t.0.et: node 3: a duration of 18446744073709551616 us; 0 to") == 0);
  CHECK(error_of({{{3, "n", 12, 1, {}, {}, {}}}}) == "t.0.et: node 3: type 12; known: 1 (metadata) to 7 (collective)");
  CHECK(error_of({{ChakraText::collective(3, 42, 8)}}) ==
        "t.0.et: node 3: comm_type 42 is no collective; known: 0 (all-reduce) to 9 (barrier)");
  CHECK(error_of({{{4, "what", 7, 0, {}, {}, {ChakraText::integer("comm_size", 8)}}}})
            .find("t.0.et: node 4: a collective without comm_type, and \"what\" names none") == 0);
  CHECK(error_of({{{5, "s", 5, 0, {}, {}, {ChakraText::integer("comm_size", 8)}}}}) ==
        "t.0.et: node 5: a send without comm_dst");
}

TEST_CASE("a collective that says neither kind nor size costs nothing, and is counted") {
  const TraceFolder folder;
  folder.write_chakra({{kFirst, {1, "c10d::broadcast_", 7, 0, {0}, {}, {}}}});
  const Replay made = replay(folder);
  CHECK(made.step() == Approx(10e-6));
  CHECK(made.result.remarks.size() == 1);
}

TEST_CASE("a collective whose time alone is known keeps it") {
  const TraceFolder folder;
  folder.write_chakra(
      {{kFirst, {1, "ncclKernel_Broadcast", 7, 28, {0}, {}, {ChakraText::integer("is_cpu_op", 0, 27)}}}});
  const Replay made = replay(folder);
  CHECK(made.step() == Approx(38e-6));
  CHECK(made.result.replay->ranks[0].exposed.value == Approx(28e-6));
  CHECK(made.result.replay->ranks[0].work.value == Approx(10e-6));
}

TEST_CASE("older schemas number kinds in another way, and are refused by name") {
  const TraceFolder folder;
  folder.write("t.0.et", ChakraText::metadata("0.0.2") + ChakraText::node(kFirst));
  CHECK(replay(folder).error ==
        "t.0.et: message 1 at byte 0: schema 0.0.2, which numbers kinds of nodes in another way; 0.0.4 is read; a "
        "Chakra trace is a sequence of lengths and messages");
}

TEST_CASE("files without a version: what an older schema wrote is refused, the rest is read as 0.0.4, and noted") {
  const TraceFolder folder;
  const auto error = [&](const std::string& text) {
    folder.write("t.0.et", text);
    return replay(folder).error;
  };
  CHECK(error(ChakraText::metadata(std::string("\x0a\x01v\x10\x04", 5)) + ChakraText::node(kFirst))
            .find("attributes stand where schema 0.0.4 has its version: an older schema") != std::string::npos);
  // the first schema: computing is 3, which is a store in 0.0.4; places of tensors are numbers in field 8
  CHECK(error(ChakraText::node({1, "COMP_NODE_first", 3, 10}))
            .find("t.0.et: message 1 at byte 0: node 1 is called COMP_NODE, but type 3 is not that in schema 0.0.4: an "
                  "older schema") == 0);
  const std::string located = std::string("\x08\x01\x18\x04\x40\x01", 6);
  CHECK(error(ChakraText::varint(located.size()) + located).find("a node with field 8, as schemas") !=
        std::string::npos);
  folder.write("t.0.et", ChakraText::node({1, "COMP_NODE_first", 4, 10}));
  const Replay made = replay(folder);
  CHECK(made.step() == Approx(10e-6));
  CHECK(made.result.remarks ==
        std::vector<std::string>{
            "1 files do not say of which version of Chakra's schema they are, and are read as 0.0.4"});
}

TEST_CASE("a stream of -1 in an unsigned field is the stream of those that name none") {
  const auto with = [](std::uint64_t stream) {
    WrittenNode node = kFirst;
    node.attributes.push_back(ChakraText::integer("stream", stream, 13));
    return error_of({{node}});
  };
  CHECK(with(~std::uint64_t(0)).empty());
  CHECK(with(std::uint64_t(1) << 40U).find("node 0: stream is 1099511627776; a whole number of 32 bits is read") !=
        std::string::npos);
}

TEST_CASE("a file cut off anywhere is refused, or ends at a message") {
  const std::string whole =
      ChakraText::metadata() + ChakraText::node(kFirst) + ChakraText::node({1, "second", 4, 25, {0}, {}, {}});
  const std::size_t one_node = (ChakraText::metadata() + ChakraText::node(kFirst)).size();
  const TraceFolder folder;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    folder.write("t.0.et", whole.substr(0, size));
    INFO(size);
    if (size == one_node)
      CHECK(read_trace(folder.path(), "chakra").files[0].nodes.size() == 1);
    else
      CHECK_THROWS_AS(read_trace(folder.path(), "chakra"), UserError);
  }
}

TEST_CASE("what is no Chakra file says what it looks like") {
  const TraceFolder folder;
  folder.write("t.0.et", "{\"schemaVersion\": 1, \"traceEvents\": []}");
  CHECK(replay(folder, {.more = ", format: chakra"}).error.find("looks like format kineto, not chakra") !=
        std::string::npos);
  folder.write("t.0.et", std::string("\x7f\x45LF\x02\x01\x01\0\0\0\0", 11));
  CHECK(replay(folder, {.more = ", format: chakra"})
            .error.find("t.0.et: message 0 at byte 0: the file ends inside a message of 127 bytes") == 0);
}

TEST_CASE("ranks that disagree: in kind, size, number") {
  const auto exchange = [](int kind, std::uint64_t bytes) {
    return std::vector<WrittenNode>{ChakraText::collective(3, kind, bytes)};
  };
  CHECK(error_of({exchange(0, 1024), exchange(5, 1024)}) ==
        "t.0.et: node 3 of rank 0 (exchange): exchange 1 of the group of 2 ranks is all-reduce of 1024 B, but on rank "
        "1 (node 3) broadcast of 1024 B; all members must agree");
  CHECK(error_of({exchange(0, 1024), exchange(0, 2048)})
            .find("all-reduce of 1024 B, but on rank 1 (node 3) all-reduce of 2048 B") != std::string::npos);
  CHECK(error_of({exchange(0, 1024), {kFirst}}) ==
        "t.0.et: node 3 of rank 0 (exchange): exchange 1 of the group of 2 ranks never ends: rank 1 has only 0 there; "
        "all members must come");
}

TEST_CASE("ranks and GPUs") {
  const std::vector<std::vector<WrittenNode>> two(2, {kFirst});
  CHECK(error_of(two, {.gpus = 1}) == "t.0.et: 2 ranks, but the cluster has 1 GPUs; at least one a rank is needed");
  CHECK(error_of(two, {.more = ", ranks: 1"}) ==
        "t.0.et: the trace holds rank 1, but `ranks` is 1; at least 2 is allowed");
  CHECK(error_of(two).empty());
}

TEST_CASE("groups: disjoint, nested, of one, and a group that nobody describes, and one that its member is not in") {
  const auto in = [](std::uint64_t id, const std::string& group) {
    WrittenNode node = ChakraText::collective(id, 0, 1 << 20);
    node.attributes.push_back(ChakraText::text("comm_group", group));
    return node;
  };
  const TraceFolder folder;
  folder.write("groups.json", "{\"7\": [0, 1], \"8\": [2, 3], \"9\": [0], \"10\": [0, 1, 2, 3]}");
  folder.write_chakra({{in(1, "7"), in(2, "9"), in(3, "10")},
                       {in(1, "7"), in(2, "10")},
                       {in(1, "8"), in(2, "10")},
                       {in(1, "8"), in(2, "10")}});
  const Replay made = replay(folder, {.more = ", format: chakra, groups: \"" + folder.path() + "/groups.json\""});
  CHECK(made.error.empty());
  CHECK(made.result.replay->exchanges == 4);
  CHECK(error_of({{in(1, "7")}}) ==
        "t.0.et: nothing says which ranks are in communicator \"7\"; give `groups: FILE`, such as {\"7\": [0, 1]}");
  const TraceFolder other;
  other.write("groups.json", "{\"7\": [1, 2]}");
  other.write_chakra({{in(1, "7")}, {in(1, "7")}, {in(1, "7")}});
  CHECK(replay(other, {.more = ", format: chakra, groups: \"" + other.path() + "/groups.json\""}).error ==
        "t.0.et: node 1 of rank 0: exchanges in group \"7\" of ranks 1, 2, which it is not in; only members may");
}

TEST_CASE("a chain of 100,000 nodes is read without recursion") {
  std::vector<WrittenNode> chain{{1, "n", 1, 0, {}, {}, {}}};
  for (std::uint64_t id = 2; id <= 100000; ++id) chain.push_back({id, "n", 1, 0, {id - 1}, {}, {}});
  const TraceFolder folder;
  folder.write_chakra({chain});
  CHECK(read_trace(folder.path(), "chakra").files[0].edges.size() == 99999);
}
