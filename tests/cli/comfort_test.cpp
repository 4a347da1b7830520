// What makes the program pleasant: starter scenarios, completion, the schema in the repository, explanations asked for, outputs that fail well.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "tests/cli/program.hpp"

using namespace trainyard;
using Json = nlohmann::json;

namespace {

/// Words of the --help of a verb that begin with two dashes.
std::vector<std::string> options_of(const std::string& verb) {
  std::istringstream words(trainyard_program(verb + " --help").out);
  std::vector<std::string> options;
  for (std::string line; std::getline(words, line) && line != "Examples:";)
    if (const std::size_t at = line.find("--"); at != std::string::npos && at < 8) options.push_back(line.substr(at, line.find_first_of(" ,", at) - at));
  return options;
}

/// What bash would offer after these words.
std::string offered(const TemporaryFolder& folder, const std::string& words) {
  const std::string script = folder.file("try.bash",
                                         "source <('" TRAINYARD_PROGRAM "' completion bash)\nCOMP_WORDS=(trainyard " + words +
                                             ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_trainyard\necho \"${COMPREPLY[@]}\" >" + folder.file("offered"));
  return std::system(("bash " + script).c_str()) == 0 ? content(folder.file("offered")) : "bash failed";
}

}  // namespace

TEST_CASE("a scenario of init runs as it stands, whatever was asked for") {
  const TemporaryFolder folder;
  const char* flags = GENERATE("--model llama-2-7b --global-batch 16", "--nodes 1xA100-SXM4-80GB --price '20 USD/h' --model gpt2-xl --sequence-length 1024 --objective cost",
                               "--nodes 1xV100-SXM2-16GB --nodes 1xaws.p4d.24xlarge --model gpt2 --sequence-length 512 --global-batch 36 --strategies megatron_fastest_type");
  const Ended made = trainyard_program(std::string("init ") + flags + " --out " + folder.file("first.yaml"));
  INFO(flags << "\n" << made.err);
  REQUIRE(made.status == 0);
  CHECK_THAT(content(folder.file("first.yaml")), Catch::StartsWith("# yaml-language-server: $schema=scenario.schema.json\n"));
  const Ended explained = trainyard_program("explain " + folder.file("first.yaml"));
  CHECK(explained.status == 0);
  CHECK(explained.err.empty());
}

TEST_CASE("the first scenario compares") {
  const TemporaryFolder folder;
  REQUIRE(trainyard_program("init --nodes 1xaws.p4d.24xlarge --model llama-2-7b --global-batch 16 --out " + folder.file("first.yaml")).status == 0);
  const Ended ended = trainyard_program("compare " + folder.file("first.yaml") + " --strategies fixed --why --sensitivity");
  INFO(ended.out << ended.err);
  CHECK(ended.status == 0);
  for (const char* part : {"critical path: ", "    time: ", "limited by ", "rejected no candidate"}) CHECK_THAT(ended.out, Catch::Contains(part));
}

TEST_CASE("init names what it does not know") {
  const Ended gpu = trainyard_program("init --nodes 2xA100-SXM4-80G");
  CHECK(gpu.status == 2);
  CHECK_THAT(gpu.err, Catch::Contains("did you mean \"A100-SXM4-80GB\"?"));
  const Ended model = trainyard_program("init --model llama-2-13");
  CHECK(model.status == 2);
  CHECK_THAT(model.err, Catch::Contains("did you mean \"llama-2-13b\"?"));
}

TEST_CASE("completion knows every option of every verb") {
  const std::string bash = trainyard_program("completion bash").out, zsh = trainyard_program("completion zsh").out, fish = trainyard_program("completion fish").out;
  for (const char* verb : {"run", "compare", "sweep", "merge", "check", "validate", "explain", "list", "collective", "import", "export", "init"}) {
    const std::vector<std::string> options = options_of(verb);
    REQUIRE_FALSE(options.empty());
    for (const std::string& option : options) {
      INFO(verb << " " << option);
      CHECK_THAT(bash, Catch::Contains(option));
      CHECK_THAT(zsh, Catch::Contains(option + "["));
      if (option != "--help") CHECK_THAT(fish, Catch::Contains("__fish_seen_subcommand_from " + std::string(verb) + "' -l " + option.substr(2)));
    }
  }
}

TEST_CASE("bash is offered verbs, options, values and names") {
  const TemporaryFolder folder;
  CHECK(offered(folder, "comp") == "compare completion\n");
  CHECK(offered(folder, "run --fo") == "--format\n");
  CHECK(offered(folder, "run --format ''") == "table json csv\n");
  CHECK(offered(folder, "list g") == "gpus\n");
  CHECK(offered(folder, "compare --strategies auto") == "autohet\n");
}

TEST_CASE("the schema in the repository is the one that the program prints") {
  INFO("new keys: trainyard schema --out scenario.schema.json");
  CHECK(content(TRAINYARD_SOURCE_DIR "/scenario.schema.json") == trainyard_program("schema").out);
}

TEST_CASE("JSON of compare says which rows are on the front, what the path is made of, and what was asked for") {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program("compare " + folder.file("small.yaml", kSmall) + " --format json --sensitivity");
  REQUIRE(ended.status == 0);
  const Json first = Json::parse(ended.out)["results"][0], second = Json::parse(ended.out)["results"][1];
  CHECK(first["pareto_front"] == true);
  CHECK(second["pareto_front"] == false);  // the same nodes, slower
  double sum = 0;
  for (const Json& part : first["critical_path"]) sum += part["share"].get<double>();
  CHECK(sum == Approx(1).epsilon(1e-9));
  double compute = 0, price = 0;
  for (const Json& gain : first["sensitivity"]) {
    if (gain["resource"] == "FLOP/s of A100-SXM4-80GB") compute = gain["throughput_gain"];
    if (gain["resource"] == "price of a") price = gain["usd_per_token_change"];
  }
  CHECK(compute > 0);
  CHECK(compute < 0.1);
  CHECK(price == Approx(0.1));
  CHECK(first["rejected"].is_array());
}

TEST_CASE("sensitivity is refused where it says nothing") {
  const TemporaryFolder folder;
  const Ended ended = trainyard_program("compare --sensitivity " + folder.file("long.yaml", kSmall + "run: {horizon: 1 h}\n"));
  CHECK(ended.status == 2);
  CHECK_THAT(ended.err, Catch::Contains("--sensitivity: ") && Catch::Contains("sensitivity is of steps"));
}

TEST_CASE("whatever option an output is named by: to a full disk or a forbidden place, one line, status 74, and the old file stays") {
  const TemporaryFolder folder;
  const std::string small = folder.file("small.yaml", kSmall), one = "--strategies fixed ";
  const std::string to = GENERATE("/dev/full", "/proc/none", "/proc/none/x");
  const std::vector<std::string> commands{"run " + small + " --out ",          "run " + small + " --trace ",      "explain " + small + " --dot ",
                                          "explain " + small + " --out ",      "list gpus --out ",                "schema --out ",
                                          "init --out ",                       "completion bash --out ",          "collective " + small + " --bytes 1MB --out ",
                                          "sweep " + small + " --store " + folder.file("s") + " --out ",          "check --update " + small + " --into "};
  for (const std::string& command : commands) {
    if (to == "/dev/full" && command.find("--into") != std::string::npos) continue;
    const Ended ended = trainyard_program(command + to);
    INFO(command << to << "\n" << ended.err);
    CHECK(ended.status == 74);
    CHECK_THAT(ended.err, Catch::StartsWith("trainyard: cannot write ") && Catch::EndsWith("\n"));
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  }
}
