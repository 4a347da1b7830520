// `validate` and `check` as a user calls them.
#include "tests/cli/program.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace trainyard;

namespace {

const std::string kTable =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data "
    "parallelism,"
    "pipeline parallelism,iteration time "
    "(ms)\n8,8,2,2048,16,20,1024,4,1,2,160.6027\n8,8,2,2048,16,20,1024,3,1,2,160.6\n";

}  // namespace

TEST_CASE("validate predicts a folder of tables; a row that cannot be predicted says why") {
  const TemporaryFolder folder;
  const std::string table = folder.file("runs.csv", kTable);
  const std::string where = table.substr(0, table.rfind('/'));
  const Ended json = trainyard_program("validate --format json --data " + where);
  REQUIRE(json.status == 0);
  const auto rows = nlohmann::json::parse(json.out).at("rows");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("status") == "ok");
  CHECK(rows[0].at("predicted_step_time_s").get<double>() > 0);
  CHECK(rows[0].at("predicted_oom") == false);
  CHECK(rows[1].at("status") == "skipped");
  CHECK(rows[1].at("predicted_step_time_s").is_null());
  CHECK(trainyard_program("validate --format json --jobs 1 --data " + where).out == json.out);
}

TEST_CASE("a conversion gives the same predictions") {
  const TemporaryFolder folder, converted;
  const std::string table = folder.file("runs.csv", kTable);
  const std::string from = table.substr(0, table.rfind('/'));
  const std::string into = converted.file("m");
  REQUIRE(trainyard_program("validate --convert " + from + " --into " + into).status == 0);
  const auto direct = nlohmann::json::parse(trainyard_program("validate --format json --data " + from).out);
  const auto again = nlohmann::json::parse(trainyard_program("validate --format json --data " + into).out);
  REQUIRE(again.at("rows").size() == 1);
  CHECK(again.at("rows")[0] == direct.at("rows")[0]);
}

TEST_CASE("validate past a budget ends with status 1") {
  const TemporaryFolder folder;
  const std::string table = folder.file("runs.csv", kTable);
  const TemporaryFolder other;
  const std::string budget = other.file("budget.yaml", "source: {vtrain_single: {median: 0}}\n");
  const Ended ended = trainyard_program("validate --check " + budget + " --data " + table.substr(0, table.rfind('/')));
  CHECK(ended.status == 1);
  CHECK(ended.err.find("past the budget: source vtrain_single: median step time error") != std::string::npos);
}

TEST_CASE("calibrate: a scenario whose steps then take what was measured; mistakes are one line and status 2") {
  const TemporaryFolder folder;
  const std::string scenario = folder.file("mine.yaml",
      "cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8}]}\n"
      "workload: {model: {layers: 2, hidden: 1024, heads: 16, vocabulary: 1024, max_positions: 1024}, sequence_length: 1024, global_batch: 64, precision: bf16}\n"
      "strategies: [{fixed: {data: 8, micro_batch: 8}}]\n");
  const auto step_time = [](const std::string& file) {
    return nlohmann::json::parse(trainyard_program("run --format json " + file).out).at("results")[0].at("step_time_s").get<double>();
  };
  const double before = step_time(scenario);
  const std::string steps = folder.file("steps.csv", "plan,step_time_s\n\"{data: 8, micro_batch: 8}\"," + std::to_string(before * 1.3) + "\n");
  const std::string calibrated = folder.file("calibrated.yaml");
  const Ended ended = trainyard_program("calibrate " + scenario + " --steps " + steps + " --out " + calibrated);
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  CHECK(step_time(calibrated) == Approx(before * 1.3).epsilon(1e-3));
  const std::string wrong = folder.file("wrong.csv", "a,b\n1,2\n");
  for (const std::string& words : {std::string(""), " --steps " + wrong, " --kernels " + wrong, " --collectives " + wrong, std::string(" --steps /no/such")}) {
    const Ended refused = trainyard_program("calibrate " + scenario + words);
    INFO(words << ": " << refused.err);
    CHECK(refused.status == 2);
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
  CHECK(trainyard_program("calibrate " + calibrated + " --steps " + steps).status == 2);
}

TEST_CASE("validate without measurements is a mistake") {
  const TemporaryFolder folder;
  const std::string file = folder.file("x.csv", "a,b\n1,2\n");
  CHECK(trainyard_program("validate --data " + file.substr(0, file.rfind('/'))).status == 2);
  CHECK(trainyard_program("validate --data /no/such/folder").status == 2);
}

TEST_CASE("check finds drift") {
  const TemporaryFolder folder;
  const std::string scenario = folder.file("small.yaml", kSmall);
  const std::string into = folder.file("kept");
  REQUIRE(trainyard_program("check --update " + scenario + " --into " + into).status == 0);
  const std::string kept = into + "/small.json";
  CHECK(trainyard_program("check " + kept).status == 0);
  auto document = nlohmann::json::parse(content(kept));
  auto& step = document.at("cases")[0].at("figures").at("step_time_s");
  step = step.get<double>() * 1.01;
  const std::string moved = folder.file("moved.json", document.dump());
  const Ended ended = trainyard_program("check " + moved + " --junit " + folder.file("check.xml"));
  CHECK(ended.status == 1);
  CHECK(ended.out.find("step_time_s") != std::string::npos);
  CHECK(content(folder.file("check.xml")).find("<failure") != std::string::npos);
  CHECK(trainyard_program("check --tolerance 0.02 " + moved).status == 0);
  CHECK(trainyard_program("check --tolerance step_time_s=0.02 " + moved).status == 0);
  const Ended unknown = trainyard_program("check --tolerance step_time=0.02 " + moved);
  CHECK(unknown.status == 2);
  CHECK(unknown.err.find("did you mean \"step_time_s\"?") != std::string::npos);
  document = nlohmann::json::parse(content(kept));
  document["catalogue_hash"] = "0123456789abcdef";
  const std::string other = folder.file("other.json", document.dump());
  const Ended strict = trainyard_program("check " + other);
  CHECK(strict.status == 1);
  CHECK(strict.out.find("kept with other catalogues (0123456789abcdef, now ") != std::string::npos);
  CHECK(trainyard_program("check --figures-only " + other).status == 0);
}

TEST_CASE("the example scenarios give their kept results") {
  const Ended ended = trainyard_program("check --figures-only $(ls " TRAINYARD_SOURCE_DIR "/validation/baselines/*.json | grep -v -e gallery- -e spot-)");
  INFO(ended.out << ended.err);
  CHECK(ended.status == 0);
}

TEST_CASE("a day on spot nodes gives its kept results") {
  const Ended ended = trainyard_program("check --figures-only " TRAINYARD_SOURCE_DIR "/validation/baselines/spot-24h-bamboo.json");
  INFO(ended.out << ended.err);
  CHECK(ended.status == 0);
}

TEST_CASE("three mixed clusters of the gallery give their kept results") {
  const std::string gallery = TRAINYARD_SOURCE_DIR "/validation/baselines/gallery-";
  const Ended ended = trainyard_program("check --figures-only " + gallery + "two-generations.json " + gallery + "slow-node.json " + gallery + "pcie-only.json");
  INFO(ended.out << ended.err);
  CHECK(ended.status == 0);
}
