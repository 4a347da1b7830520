// `trainyard collective`, end to end.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

using namespace trainyard;

namespace {

const std::string kCluster =
    "cluster: {nodes: [{name: a, count: 2, gpu: A100-SXM4-80GB, gpus_per_node: 8, nics: 8, nic: 200 Gbps, transport: infiniband}]}\n";

Ended collective(const std::string& words) {
  const TemporaryFolder folder;
  return trainyard_program("collective " + folder.file("two.yaml", kCluster) + " " + words);
}

void refused(const std::string& words, const std::string& message) {
  const Ended ended = collective(words);
  INFO(words);
  CHECK(ended.status == 2);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.err, Catch::Contains(message));
}

}  // namespace

TEST_CASE("one line a size, doubling, without a workload or strategies") {
  const Ended ended = collective("--op all_reduce --gpus 16 --bytes 1MiB..8MiB --format csv");
  CHECK(ended.err.empty());
  CHECK(ended.status == 0);
  CHECK(std::count(ended.out.begin(), ended.out.end(), '\n') == 5);
  CHECK_THAT(ended.out, Catch::StartsWith("op,gpus,size,count,type,time_us,algbw_GBps,busbw_GBps,algorithm\nall_reduce,16,1048576,262144,float,"));
}

TEST_CASE("bandwidths follow from size and time as nccl-tests has them") {
  for (const auto& [operation, factor] : {std::pair{"all_reduce", 1.875}, {"all_gather", 0.9375}, {"reduce_scatter", 0.9375},
                                          {"all_to_all", 0.9375}, {"broadcast", 1.0}, {"send_recv", 1.0}}) {
    INFO(operation);
    const Ended ended = collective(std::string("--op ") + operation + " --bytes 1GiB --format json");
    REQUIRE(ended.status == 0);
    const auto result = nlohmann::json::parse(ended.out)["results"][0];
    const double algbw = 1073741824.0 / result["time"].get<double>();
    CHECK(result["algorithm_bandwidth"].get<double>() == Approx(algbw));
    CHECK(result["bus_bandwidth"].get<double>() == Approx(algbw * factor));
  }
}

TEST_CASE("the algorithm that was asked for is printed") {
  for (const char* algorithm : {"ring", "tree", "hierarchical", "in_network"}) {
    const Ended ended = collective(std::string("--bytes 64MiB --algorithm ") + algorithm);
    CHECK(ended.status == 0);
    CHECK_THAT(ended.out, Catch::EndsWith(std::string("  ") + algorithm + "\n"));
  }
}

TEST_CASE("wrong words of collective are refused with what is wrong") {
  refused("--bytes 1MB --op all_reduse", "--op: no operation \"all_reduse\"; did you mean \"all_reduce\"?");
  refused("--bytes 1MB --algorithm trie", "--algorithm: no algorithm \"trie\"; did you mean \"tree\"?");
  refused("--bytes 1MB --op broadcast --algorithm tree", "--algorithm: only all_reduce has a choice");
  refused("--bytes 1MB --gpus 64", "--gpus: 64 asked for, the cluster has 16\n");
  refused("--bytes 12", "--bytes: \"12\" needs a unit");
  refused("--bytes 4MB..1MB", "--bytes: \"4MB..1MB\" ends below its start\n");
  refused("--bytes 0B", "--bytes: \"0B\" is not between 1 B and 1 PB\n");
  refused("--bytes 1MB --gpus 1", "--gpus");
  refused("", "--bytes is required");
  refused("--bytes 1MB --gpus 8 --algorithm hierarchical", "no hierarchical all-reduce over nvlink3: it takes several nodes with equally many devices\n");
}
