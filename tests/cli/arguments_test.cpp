#include "sim/cli/arguments.hpp"

#include <catch2/catch.hpp>

using namespace trainyard;
using Words = std::vector<std::string>;

namespace {

Arguments accepted(const Words& words) {
  const auto parsed = parse_arguments(words, "1.2.3");
  if (const Stop* stop = std::get_if<Stop>(&parsed)) FAIL(stop->text);
  return std::get<Arguments>(parsed);
}

/// First line of the complaint; the status must be 2.
std::string refused(const Words& words) {
  const auto parsed = parse_arguments(words, "1.2.3");
  REQUIRE(std::holds_alternative<Stop>(parsed));
  CHECK(std::get<Stop>(parsed).status == 2);
  const std::string& text = std::get<Stop>(parsed).text;
  return text.substr(0, text.find('\n'));
}

std::string printed(const Words& words) {
  const auto parsed = parse_arguments(words, "1.2.3");
  REQUIRE(std::holds_alternative<Stop>(parsed));
  CHECK(std::get<Stop>(parsed).status == 0);
  return std::get<Stop>(parsed).text;
}

}  // namespace

TEST_CASE("every option of compare is read") {
  const Arguments a = accepted({"compare",  "a.yaml",    "b.yaml",      "--strategies", "x,y",   "--format",
                                "json",     "--out",     "o",           "--trace",      "t",     "--jobs",
                                "3",        "--timings", "--quiet",     "--color",      "never", "--no-symmetry",
                                "--detail", "full",      "--objective", "cost"});
  CHECK(a.verb == Verb::compare);
  CHECK(a.scenarios == Words{"a.yaml", "b.yaml"});
  CHECK(a.strategies == Words{"x", "y"});
  CHECK(a.format == Format::json);
  CHECK(a.out == "o");
  CHECK(a.trace == "t");
  CHECK(a.jobs == 3);
  CHECK(a.timings);
  CHECK(a.quiet);
  CHECK(a.colour == Colour::never);
  CHECK_FALSE(a.symmetry);
  CHECK(a.full_detail);
  CHECK(a.objective == "cost");
}

TEST_CASE("options may stand before the scenarios and take `=`") {
  const Arguments a = accepted({"run", "--strategies", "x,y", "--format=csv", "a.yaml", "b.yaml"});
  CHECK(a.strategies == Words{"x", "y"});
  CHECK(a.scenarios == Words{"a.yaml", "b.yaml"});
  CHECK(a.format == Format::csv);
}

TEST_CASE("defaults") {
  const Arguments a = accepted({"run", "a.yaml"});
  CHECK(a.format == Format::table);
  CHECK(a.colour == Colour::automatic);
  CHECK(a.jobs >= 1);
  CHECK(a.symmetry);
  CHECK_FALSE(a.full_detail);
  CHECK_FALSE(a.timings);
  CHECK(a.strategies.empty());
  CHECK(a.objective.empty());
}

TEST_CASE("list takes a catalogue and a name") {
  const Arguments a = accepted({"list", "gpus", "A100"});
  CHECK(a.list_what == "gpus");
  CHECK(a.list_name == "A100");
  CHECK(refused({"list", "gpu"}) == "trainyard list: no catalogue \"gpu\"; did you mean \"gpus\"?");
}

TEST_CASE("wrong verbs and options name the nearest") {
  CHECK(refused({"comapre"}) == "trainyard: no verb \"comapre\"; did you mean \"compare\"?");
  CHECK(refused({"calibrat", "a.yaml"}) == "trainyard: no verb \"calibrat\"; did you mean \"calibrate\"?");
  CHECK(refused({"run", "a.yaml", "--fromat", "json"}) ==
        "trainyard run: no option \"--fromat\"; did you mean \"--format\"?");
  CHECK(refused({"run", "a.yaml", "--fromat=json"}) ==
        "trainyard run: no option \"--fromat\"; did you mean \"--format\"?");
  CHECK_THAT(refused({"run", "a.yaml", "--objective", "cost"}),
             Catch::StartsWith("trainyard run: no option \"--objective\""));
  CHECK_THAT(refused({"--verison"}),
             Catch::StartsWith("trainyard: no option \"--verison\"; did you mean \"--version\"?"));
}

TEST_CASE("wrong values and missing words are usage errors") {
  CHECK_THAT(refused({"run"}), Catch::Contains("SCENARIO"));
  CHECK_THAT(refused({"run", "a", "--format", "xml"}), Catch::Contains("xml"));
  CHECK_THAT(refused({"run", "a", "--jobs", "0"}), Catch::Contains("--jobs"));
  CHECK_THAT(refused({"run", "a", "--jobs", "many"}), Catch::Contains("--jobs"));
  CHECK_THAT(refused({"compare", "a", "--objective", "speed"}), Catch::Contains("speed"));
  CHECK_THAT(refused({"run", "a", "--out"}), Catch::Contains("--out"));
  CHECK_THAT(refused({"schema", "more"}), Catch::StartsWith("trainyard schema: "));
}

TEST_CASE("help and version go with status 0; no words at all with 2") {
  CHECK(printed({"--version"}) == "trainyard 1.2.3\n");
  CHECK_THAT(printed({"--help"}), Catch::Contains("compare") && Catch::Contains("Exit status"));
  CHECK_THAT(printed({"compare", "--help"}), Catch::Contains("--objective") && Catch::Contains("Examples:"));
  CHECK_THAT(refused({}), Catch::StartsWith("trainyard: "));
}
