// Simulations end to end: formats, exit statuses, the same bytes every time.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

using namespace trainyard;
using Json = nlohmann::json;

TEST_CASE("the starter scenario runs") {
  const TemporaryFolder folder;
  const Ended init = trainyard_program("init");
  REQUIRE(init.status == 0);
  const Ended ended = trainyard_program("compare " + folder.file("first.yaml", init.out));
  INFO(ended.out + ended.err);
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, Catch::Contains("tokens/s") && Catch::Contains("first · as_is") &&
                            Catch::Contains("first · long_sequences"));
  CHECK(ended.err.empty());
}

TEST_CASE("JSON of a run is valid and complete") {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program("run " + folder.file("small.yaml", kSmall) + " --format json");
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  const Json document = Json::parse(ended.out);
  CHECK(document["schema"] == "trainyard/result/1");
  REQUIRE(document["results"].size() == 2);
  for (const Json& result : document["results"]) {
    CHECK(result["status"] == "ok");
    CHECK(result["gpus"] == 8);
    CHECK(result["plan"].is_object());
    CHECK(result["price_usd_per_h"].get<double>() == Approx(20));
    double sum = 0;
    for (const Json& part : result["time_breakdown_s"]) sum += part.get<double>();
    CHECK(sum == Approx(result["step_time_s"].get<double>()).epsilon(1e-9));
    CHECK(result["tokens_per_s"].get<double>() == Approx(16 * 4096 / result["step_time_s"].get<double>()));
  }
}

TEST_CASE("the same bytes whatever --jobs says, in every format") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall);
  for (const char* format : {"table", "json", "csv"}) {
    const std::string words = "compare " + file + " --format " + format;
    const Ended one = trainyard_program(words + " --jobs 1"), two = trainyard_program(words + " --jobs 2");
    INFO(format);
    CHECK(one.status == 0);
    CHECK(one.out == two.out);
    CHECK(one.out == trainyard_program(words + " --jobs 2").out);
  }
}

TEST_CASE("compare ranks by the objective") {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program("compare " + folder.file("small.yaml", kSmall) + " --format json");
  const Json results = Json::parse(ended.out)["results"];
  CHECK(results[0]["tokens_per_s"].get<double>() >= results[1]["tokens_per_s"].get<double>());
}

TEST_CASE("what does not fit ends with status 3 and says why") {
  const TemporaryFolder folder;
  const std::string file = folder.file("large.yaml", kTooLarge);
  const Ended ended = trainyard_program("compare " + file);
  CHECK(ended.status == 3);
  CHECK_THAT(ended.out, Catch::Contains("does not fit"));
  const Json result = Json::parse(trainyard_program("run " + file + " --format json").out)["results"][0];
  CHECK(result["status"] == "infeasible");
  CHECK(result["peak_memory_bytes"].get<double>() > result["memory_capacity_bytes"].get<double>());
  CHECK(result["step_time_s"].is_null());
}

TEST_CASE("an --out takes the place of standard output, --trace is valid JSON") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall);
  const Ended ended = trainyard_program("run " + file + " --format csv --out " + folder.file("out.csv") + " --trace " +
                                        folder.file("trace.json"));
  CHECK(ended.status == 0);
  CHECK(ended.out.empty());
  CHECK(folder.listing() == "out.csv\nsmall.yaml\ntrace.json\n");
  CHECK_THAT(content(folder.file("out.csv")), Catch::StartsWith("scenario,variant,strategy,status,"));
  const Json trace = Json::parse(content(folder.file("trace.json")));
  CHECK(trace["traceEvents"].size() > 100);
}

TEST_CASE("colour and wall times are there only when asked for") {
  const TemporaryFolder folder;
  const std::string words = "run " + folder.file("small.yaml", kSmall);
  CHECK(trainyard_program(words).out.find('\033') == std::string::npos);
  CHECK(trainyard_program(words + " --color always").out.find('\033') != std::string::npos);
  CHECK_THAT(trainyard_program(words).out, !Catch::Contains("wall time"));
  CHECK_THAT(trainyard_program(words + " --timings").out, Catch::Contains("wall time"));
}

TEST_CASE("without symmetry and in full detail the times are the same") {
  const TemporaryFolder folder;
  const std::string words = "run " + folder.file("small.yaml", kSmall) + " --format json";
  const Json merged = Json::parse(trainyard_program(words).out)["results"];
  for (const char* option : {" --no-symmetry", " --detail full"}) {
    const Json other = Json::parse(trainyard_program(words + option).out)["results"];
    INFO(option);
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(other[i]["step_time_s"].get<double>() == Approx(merged[i]["step_time_s"].get<double>()).epsilon(1e-9));
  }
}
