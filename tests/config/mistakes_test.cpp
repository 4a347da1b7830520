// Every mistake by its exact text. mistakes.txt holds blocks: a document, a line "-----", what is printed, a line
// "=====".
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/schema.hpp"
#include "sim/units/error.hpp"
#include "tests/config/sample_schema.hpp"

using namespace trainyard;

namespace {

struct Mistake {
  std::string document;
  std::string printed;
};

std::vector<Mistake> recorded_mistakes() {
  std::ifstream stream(TRAINYARD_SOURCE_DIR "/tests/config/mistakes.txt");
  std::vector<Mistake> result;
  Mistake now;
  bool in_document = true;
  for (std::string line; std::getline(stream, line);) {
    if (line == "-----") {
      in_document = false;
    } else if (line == "=====") {
      result.push_back(now);
      now = {};
      in_document = true;
    } else {
      (in_document ? now.document : now.printed) += line + "\n";
    }
  }
  return result;
}

std::string printed_for(const std::string& document) {
  Diagnostics diagnostics;
  const ConfigValue value = read_yaml_text(document, "s.yaml", diagnostics);
  check(value, test::sample_schema(), diagnostics);
  return diagnostics.text() + "\n";
}

}  // namespace

TEST_CASE("each recorded mistake prints its recorded text") {
  const std::vector<Mistake> mistakes = recorded_mistakes();
  REQUIRE(mistakes.size() >= 60);
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.document);
    CHECK(printed_for(mistake.document) == mistake.printed);
  }
}

TEST_CASE("mistakes of one file are shown together, by place, once") {
  Diagnostics diagnostics;
  const ConfigValue value = read_yaml_text("b: 1\na: 2\n", "x.yaml", diagnostics);
  diagnostics.add(value.items[1].place, "second");
  diagnostics.add(value.items[0].place, "first");
  diagnostics.add(value.items[1].place, "second");
  CHECK(diagnostics.text() == "x.yaml:1:4: b: first\n  b: 1\n     ^\nx.yaml:2:4: a: second\n  a: 2\n     ^");
  CHECK_THROWS_AS(diagnostics.throw_if_any(), UserError);
  CHECK_NOTHROW(Diagnostics().throw_if_any());
}

TEST_CASE("a value from the command line has a path but no line") {
  Diagnostics diagnostics;
  diagnostics.add({nullptr, 0, 0, "cluster.nodes"}, "wrong");
  CHECK(diagnostics.text() == "cluster.nodes: wrong");
}

TEST_CASE("very many mistakes are cut") {
  std::string document;
  for (int i = 0; i < 250; ++i) document += fmt::format("key{}: 1\n", i);
  const std::string text = printed_for(document);
  CHECK(text.find("151 more mistakes are not shown") != std::string::npos);
}

TEST_CASE("a long line is quoted around the place") {
  const std::string document = "nodes: [{name: " + std::string(5000, 'n') + ", gpu: A100-SXM4-80GB, count: x}]\n";
  const std::string text = printed_for(document);
  CHECK(text.size() < 600);
  CHECK(text.find("count: x}]") != std::string::npos);
}

TEST_CASE("names that are not known get the nearest or a list") {
  CHECK(unknown_name("GPU", "V100-16", {"A100-SXM4-80GB", "V100-SXM2-16GB"}) ==
        "no GPU \"V100-16\"; did you mean \"V100-SXM2-16GB\"?");
  CHECK(unknown_name("model", "zzz", {"a", "b"}) == "no model \"zzz\"; known: a, b");
  CHECK(unknown_name("model", "zzz", {}) == "no model \"zzz\"");
  std::vector<std::string> many;
  for (int i = 0; i < 15; ++i) many.push_back(fmt::format("m{}", i));
  CHECK(unknown_name("model", "zzzzzz", many) ==
        "no model \"zzzzzz\"; known: m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11 and 3 more");
}

TEST_CASE("the nearest name") {
  CHECK(nearest("cuont", {"colour", "count"}) == "count");
  CHECK(nearest("FAT-TREE", {"rail", "fat_tree"}) == "fat_tree");
  CHECK(nearest("p4d.24xlarge", {"aws.p3.16xlarge", "aws.p4d.24xlarge"}) == "aws.p4d.24xlarge");
  CHECK(nearest("tp", {"pp", "dp"}).empty());
  CHECK(nearest("gpus", {"gpu"}) == "gpu");
  CHECK(nearest("", {"a"}).empty());
  CHECK(nearest(std::string(1'000'000, 'a'), {"aaa"}).empty());
  CHECK(nearest("abc", {}).empty());
}
