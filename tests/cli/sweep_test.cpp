// `sweep` and `merge`: whatever happens on the way, the same rows.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.hpp"

using namespace trainyard;
using Json = nlohmann::json;

namespace {

const std::string kGrid = " --set workload.global_batch=16..48..16 --set 'cluster.nodes.a.nic=100..200..100 Gbps'";

}  // namespace

TEST_CASE("a sweep has a record a point and strategy, with its settings") {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program("sweep " + folder.file("small.yaml", kSmall) + kGrid +
                                        " --format json --store " + folder.file("s.sweep"));
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  std::istringstream lines(ended.out);
  std::string line;
  std::vector<Json> records;
  while (std::getline(lines, line)) records.push_back(Json::parse(line));
  REQUIRE(records.size() == 12);
  CHECK(records[0]["set"] == Json{{"workload.global_batch", "16"}, {"cluster.nodes.a.nic", "100 Gbps"}});
  CHECK(records[11]["set"] == Json{{"workload.global_batch", "48"}, {"cluster.nodes.a.nic", "200 Gbps"}});
  const Ended run = trainyard_program("run " + folder.file("small.yaml", kSmall) + " --format json");
  const Json plain = Json::parse(run.out)["results"][1];
  CHECK(records[3]["step_time_s"] == plain["step_time_s"]);
}

TEST_CASE("stopped and resumed, in shards and merged: the same bytes") {
  const TemporaryFolder folder;
  const std::string sweep = "sweep " + folder.file("small.yaml", kSmall) + kGrid + " --format csv";
  const Ended whole = trainyard_program(sweep + " --jobs 1 --store " + folder.file("whole"));
  REQUIRE(whole.status == 0);
  CHECK(trainyard_program(sweep + " --store " + folder.file("whole")).out == whole.out);
  std::string stores;
  for (const char* part : {"1/3", "2/3", "3/3"}) {
    stores += " " + folder.file(std::string("part") + part[0]);
    REQUIRE(trainyard_program(sweep + " --shard " + part + " --store " + folder.file(std::string("part") + part[0]))
                .status == 0);
  }
  const Ended merged = trainyard_program("merge" + stores + " --format csv");
  INFO(merged.err);
  CHECK(merged.status == 0);
  CHECK(merged.out == whole.out);
}

TEST_CASE("a sweep that is killed goes on where it was") {
  const TemporaryFolder folder;
  const std::string sweep = "sweep " + folder.file("small.yaml", kSmall) + kGrid + " --format csv --jobs 1 --store ";
  const Ended whole = trainyard_program(sweep + folder.file("whole"));
  const Ended killed = trainyard_program(sweep + folder.file("killed"), "timeout --signal=KILL 0.4 ");
  const Ended resumed = trainyard_program(sweep + folder.file("killed"));
  INFO(killed.status);
  CHECK(resumed.status == 0);
  CHECK(resumed.out == whole.out);
}

TEST_CASE("what is wrong with a sweep is said before anything is simulated") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall);
  const Ended key = trainyard_program("sweep " + file + " --set workload.global_bach=1,2 --store " + folder.file("s"));
  CHECK(key.status == 2);
  CHECK_THAT(key.err, Catch::Contains("did you mean \"global_batch\"?"));
  const Ended value =
      trainyard_program("sweep " + file + " --set workload.global_batch=16,-1 --store " + folder.file("s"));
  CHECK(value.status == 2);
  CHECK_THAT(value.err, Catch::Contains("--set workload.global_batch:1:1"));
  const Ended shard = trainyard_program("sweep " + file + " --shard 4/3");
  CHECK(shard.status == 2);
  CHECK_THAT(shard.err, Catch::Contains("--shard is I/N with I from 1 to N, such as 3/8, not \"4/3\""));
  CHECK(folder.listing() == "small.yaml\n");
}

TEST_CASE("values that do not go together are points where nothing fits") {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program("sweep " + folder.file("small.yaml", kSmall) +
                                        " --set strategies.0.fixed.tensor=4,8,16 --format json --store " + folder.file("s"));
  INFO(ended.err);
  CHECK(ended.status == 0);
  std::istringstream lines(ended.out);
  std::vector<Json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
  REQUIRE(records.size() == 4);
  CHECK(records[0]["status"] == "infeasible");
  CHECK_THAT(records[0]["reason"].get<std::string>(), Catch::Contains("need 4 devices, there are 8"));
  CHECK(records[1]["status"] == "ok");
  CHECK(records[3]["status"] == "infeasible");
}

TEST_CASE("merge refuses what is not whole") {
  const TemporaryFolder folder;
  const std::string sweep = "sweep " + folder.file("small.yaml", kSmall) + kGrid;
  REQUIRE(trainyard_program(sweep + " --shard 1/2 --store " + folder.file("one")).status == 0);
  const Ended ended = trainyard_program("merge " + folder.file("one"));
  CHECK(ended.status == 2);
  CHECK_THAT(ended.err, Catch::Contains("3 of 6 points are in none of the files; the first is point 1"));
}
