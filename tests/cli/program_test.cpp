// Usage, bad input and outputs, end to end.
#include "tests/cli/program.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace trainyard;

TEST_CASE("version and help are on standard output") {
  const Ended version = trainyard_program("--version");
  CHECK(version.status == 0);
  CHECK_THAT(version.out, Catch::StartsWith("trainyard "));
  CHECK(version.err.empty());
  for (const char* verb : {"run", "compare", "explain", "list", "schema", "init"}) {
    const Ended help = trainyard_program(std::string(verb) + " --help");
    INFO(verb);
    CHECK(help.status == 0);
    CHECK_THAT(help.out, Catch::Contains("Examples:"));
  }
}

TEST_CASE("wrong usage ends with status 2 and says so on standard error") {
  for (const char* words : {"", "rnu", "sweep x.yaml", "run", "run --fromat", "list gpu", "run x --jobs 0"}) {
    const Ended ended = trainyard_program(words);
    INFO(words);
    CHECK(ended.status == 2);
    CHECK(ended.out.empty());
    CHECK_FALSE(ended.err.empty());
  }
}

TEST_CASE("a bad scenario beside a good one: nothing is simulated, both are named where they are wrong") {
  const TemporaryFolder folder;
  const std::string good = folder.file("good.yaml", kSmall);
  const std::string bad = folder.file("bad.yaml", kSmall + "objektive: cost\n");
  const Ended ended = trainyard_program("compare " + good + " " + bad + " " + folder.file("missing.yaml") + " --out " +
                                        folder.file("out"));
  CHECK(ended.status == 2);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.err, Catch::Contains("did you mean \"objective\"?") && Catch::Contains("missing.yaml"));
  CHECK_THAT(ended.err, !Catch::Contains("good.yaml"));
  CHECK(folder.listing() == "bad.yaml\ngood.yaml\n");
}

TEST_CASE("the schema is JSON") {
  const Ended ended = trainyard_program("schema");
  CHECK(ended.status == 0);
  CHECK(nlohmann::json::accept(ended.out));
}

TEST_CASE("every catalogue is listed, and one entry in detail") {
  for (const char* what : {"strategies", "gpus", "instances", "models", "fabrics", "schedules", "software"}) {
    const Ended ended = trainyard_program(std::string("list ") + what);
    INFO(what);
    CHECK(ended.status == 0);
    REQUIRE_FALSE(ended.out.empty());
    const std::string first = ended.out.substr(0, ended.out.find_first_of(" \n"));
    const Ended one = trainyard_program(std::string("list ") + what + " '" + first + "'");
    CHECK(one.status == 0);
    CHECK_THAT(one.out, Catch::StartsWith(first));
  }
  const Ended unknown = trainyard_program("list gpus A100-SXM4-80G");
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, Catch::Contains("did you mean \"A100-SXM4-80GB\"?"));
}

TEST_CASE("explain says what a scenario resolves to, at once") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall);
  const Ended ended = trainyard_program("explain " + file);
  CHECK(ended.err.empty());
  CHECK(ended.status == 0);
  for (const char* part :
       {"A100-SXM4-80GB", "20.00 USD/h", "32 decoder", "6.74 billion", "fixed {tensor: 8, micro_batch: 1}"}) {
    INFO(ended.out);
    CHECK_THAT(ended.out, Catch::Contains(part));
  }
}

TEST_CASE("outputs that cannot be written end with status 74 and one line") {
  const TemporaryFolder folder;
  const Ended full = trainyard_program("schema --out /dev/full");
  CHECK(full.status == 74);
  CHECK(full.err == "trainyard: cannot write /dev/full: No space left on device\n");
  const Ended missing = trainyard_program("init --out " + folder.file("none/init.yaml"));
  CHECK(missing.status == 74);
  CHECK(folder.listing().empty());
}

TEST_CASE("a page that cannot be written ends with status 74 and one line, after the results") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall);
  const Ended full = trainyard_program("run " + file + " --report /dev/full");
  CHECK(full.status == 74);
  CHECK(full.err == "trainyard: cannot write /dev/full: No space left on device\n");
  CHECK_THAT(full.out, Catch::Contains("tokens/s"));
  CHECK(folder.listing() == "small.yaml\n");
}

TEST_CASE("run writes a page that holds the scenario and the Plans as YAML") {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", kSmall), page = folder.file("page.html", "old");
  const Ended ended = trainyard_program("run " + file + " --report " + page);
  CHECK(ended.err.empty());
  CHECK(ended.status == 0);
  const std::string text = content(page);
  CHECK_THAT(text, Catch::StartsWith("<!DOCTYPE html>"));
  for (const char* part : {"\"scenario\":\"small\"", "sequence_length: 4096", "stages:\\n- {devices: a", "\"micro_batch\":["}) {
    INFO(part);
    CHECK_THAT(text, Catch::Contains(part));
  }
}

TEST_CASE("a reader that went away ends it with status 74") {
  const TemporaryFolder folder;
  // The status of the program, not of the pipe; the text is larger than a pipe holds.
  const std::string script =
      "(sleep 0.2; '" TRAINYARD_PROGRAM "' schema 2>/dev/null; echo $? >" + folder.file("status") + ") | true";
  CHECK(std::system(script.c_str()) == 0);
  CHECK(content(folder.file("status")) == "74\n");
}

TEST_CASE("an interrupt ends it with status 130") {
  const TemporaryFolder folder;
  // Nobody reads the pipe, so that the program waits to open it. It may take a while until it listens to the signal.
  const std::string pipe = folder.file("pipe");
  const std::string script = "mkfifo " + pipe + "; '" TRAINYARD_PROGRAM "' schema --out " + pipe +
                             " & for i in $(seq 300); do sleep 0.1; kill -INT $! || break; done 2>/dev/null; wait $!; echo $? >" + folder.file("status");
  CHECK(std::system(script.c_str()) == 0);
  CHECK(content(folder.file("status")) == "130\n");
}
