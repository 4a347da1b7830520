// Planners outside the program: what they are asked, what they may answer, and every way in which they can misbehave.
#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/planning/child_program.hpp"
#include "sim/planning/planning_json.hpp"
#include "tests/job/scenario_fixture.hpp"

using namespace trainyard;

namespace {

/// A shell script in a folder of its own.
class Script {
 public:
  explicit Script(const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "trainyard-planner-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(path()) << "#!/bin/sh\n" << text << "\n";
    ::chmod(path().c_str(), 0700);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  ~Script() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return folder_ + "/planner"; }

 private:
  std::string folder_;
};

CaseResult run(const std::string& script, const std::string& more = "") {
  const Script planner(script);
  const Scenario scenario = fixture::scenario("{external: {program: " + planner.path() + more + "}}");
  const WorkerNursery nursery = WorkerNursery::start();
  CaseResult result = run_cases(fixture::cases_of(scenario), {}, 1, nursery, nullptr).front();
  if (const auto at = result.reason.find(planner.path()); at != std::string::npos) result.reason.replace(at, planner.path().size(), "X");
  return result;
}

}  // namespace

TEST_CASE("a Plan that another program prints is simulated, under its own name") {
  const CaseResult result = run("cat > /dev/null; echo '{\"plan\": {\"tensor\": 8, \"data\": 2}, \"estimated_step_time\": \"7 s\"}'", ", name: mine");
  CHECK(result.reason.empty());
  CHECK(result.status == CaseStatus::ok);
  CHECK(result.strategy == "mine");
  CHECK(result.planner_estimate == Seconds(7));
  CHECK(result.plan_line.starts_with("TP8"));
}

TEST_CASE("a program need not read its question, and may print YAML") {
  CHECK(run("exec <&-; printf 'tensor: 8\\ndata: 2\\n'").status == CaseStatus::ok);
}

TEST_CASE("a program that finds no Plan says why") {
  const CaseResult result = run("cat > /dev/null; echo 'infeasible: all too small'");
  CHECK(result.status == CaseStatus::infeasible);
  CHECK(result.reason == "X: all too small");
}

TEST_CASE("every way to misbehave has its line") {
  struct Way {
    const char *script, *reason;
  };
  const auto [script, reason] = GENERATE(values<Way>({
      {"echo oops >&2; exit 3", "external planner X ended with status 3: oops"},
      {"kill -9 $$", "external planner X was ended by signal 9"},
      {"true", "external planner X ended without printing a Plan"},
      {"exec >&-", "external planner X ended without printing a Plan"},
      {"echo hello", "external planner X printed no Plan: a map is expected"},
      {"echo '{tensor: 8'", "external planner X printed no Plan: line 1, column 1: not valid YAML: this \"{\" is not closed"},
      {"echo 'tensr: 8'", "external planner X printed a Plan with a mistake: line 1, column 1: tensr: no key \"tensr\"; did you mean \"tensor\"?"},
      {"echo 'tensor: 3'",
       "external planner X printed a Plan that does not fit the cluster or workload: line 1, column 1: tensor 3 need 3 devices, there are 16"},
      {"echo '{layout: [data: 16], stages: [{layers: [embedding, 0-3]}]}'", "external planner X printed a Plan that breaks a rule: "},
      {"yes '# nonsense' | head -c 100000000", "external planner X printed more than 16.8 MB"},
  }));
  const CaseResult result = run(script);
  CHECK(result.status == CaseStatus::error);
  CHECK(result.user_error);
  CHECK_THAT(result.reason, Catch::StartsWith(reason));
  CHECK(result.reason.find('\n') == std::string::npos);
}

TEST_CASE("a program that hangs is ended at its time limit") {
  const std::string script = GENERATE("sleep 60", "exec >&- 2>&-; sleep 60", "sleep 60 & wait", "echo 'tensor: 8'; sleep 60");
  const CaseResult result = run(script, ", time_limit: 200 ms");
  CHECK(result.user_error);
  CHECK(result.reason == "external planner X did not answer within 200 ms");
}

TEST_CASE("a program that is not there or may not be run is a mistake of the scenario") {
  CHECK_THROWS_WITH(fixture::scenario("{external: ./no-such-planner}"), Catch::Contains("no program no-such-planner"));
  CHECK_THROWS_WITH(fixture::scenario("{external: /dev/null}"), Catch::Contains("/dev/null is no program that may be run"));
  CHECK_THROWS_WITH(fixture::scenario("external"), Catch::Contains("external needs a program, such as {external: ./planner.py}"));
  CHECK(ask_program("no-such-program-in-path", "", {}).problem == "cannot be started: No such file or directory");
}

TEST_CASE("what a program leaves running does not outlive it") {
  const Script planner("sleep 61.25 & echo $!");
  const ChildAnswer answer = ask_program(planner.path(), "", {Seconds(5), 1000});
  CHECK(answer.problem.empty());
  const pid_t left = std::stoi(answer.output);
  const std::string program = "/proc/" + std::to_string(left) + "/exe";  // none, too, where it has ended and nobody has looked
  for (int tries = 0; std::filesystem::exists(program) && tries < 200; ++tries) ::usleep(10000);
  CHECK_FALSE(std::filesystem::exists(program));
}

TEST_CASE("a large question reaches a program that reads it slowly") {
  const Script planner("sleep 0.1; wc -c");
  CHECK(std::stol(ask_program(planner.path(), std::string(3000000, 'x'), {Seconds(20), 1000}).output) == 3000000);
}

TEST_CASE("the question names GPUs, layers and their times") {
  const Scenario scenario = fixture::scenario("megatron");
  const auto question = nlohmann::json::parse(planning_json(scenario.variants[0].cluster, scenario.variants[0].workload, 7, 3));
  CHECK(question["budget"] == 7);
  CHECK(question["seed"] == 3);
  CHECK(question["cluster"]["gpus"].size() == 16);
  CHECK(question["cluster"]["nodes"][1]["name"] == "a.1");
  CHECK(question["cluster"]["routes"].size() == 3);  // inside either node, and between the two
  CHECK(question["workload"]["layers"].size() == 34);
  CHECK(question["workload"]["layers"][1]["parameters"].get<double>() == Approx(202.38e6).epsilon(1e-3));
  CHECK(question["profile"]["A100-SXM4-80GB"][1]["forward_s"].get<double>() > 0);
}
