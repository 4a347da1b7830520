// Reading: content, places, and everything that is refused.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "sim/config/config_value.hpp"

using namespace trainyard;

namespace {

using Kind = ConfigValue::Kind;

ConfigValue read(const std::string& text) {
  Diagnostics diagnostics;
  ConfigValue value = read_yaml_text(text, "x.yaml", diagnostics);
  INFO(diagnostics.text());
  REQUIRE(diagnostics.empty());
  return value;
}

std::string mistake(const std::string& text) {
  Diagnostics diagnostics;
  (void)read_yaml_text(text, "x.yaml", diagnostics);
  const std::string all = diagnostics.text();
  return all.substr(0, all.find('\n'));
}

std::string place(const ConfigValue& value) {
  return std::to_string(value.place.line) + ":" + std::to_string(value.place.column) + " " + value.place.path;
}

/// A file that goes away with the test.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& content) {
    char name[] = "/tmp/trainyard-config-XXXXXX";
    const int descriptor = mkstemp(name);
    REQUIRE(descriptor >= 0);
    close(descriptor);
    path = name;
    std::ofstream(path, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

std::string file_mistake(const std::string& path) {
  Diagnostics diagnostics;
  CHECK(read_yaml_file(path, diagnostics).kind == Kind::null);
  return diagnostics.text();
}

}  // namespace

TEST_CASE("content and places of a document") {
  const ConfigValue root = read("a: 1\nb: [x, \"2\", {c: é, d: y}]\ne:\n  - f:\n    g: ~\n  - h\n");
  CHECK(root.kind == Kind::map);
  REQUIRE(root.items.size() == 3);
  CHECK(place(*root.find("a")) == "1:4 a");
  CHECK(place(root.find("b")->items[2].items[1]) == "2:23 b[2].d");
  CHECK(root.find("b")->items[1].quoted);
  CHECK_FALSE(root.find("b")->items[0].quoted);
  CHECK(place(*root.find("e")->items[0].find("f")) == "4:5 e[0].f");
  CHECK(root.find("e")->items[0].find("g")->kind == Kind::null);
  CHECK(place(root.find("e")->items[1]) == "6:5 e[1]");
  CHECK(root.keys[1].second.line == 2);
  CHECK(root.keys[1].second.path == "b");
  CHECK(root.find("nothing") == nullptr);
}

TEST_CASE("scalars stay as written") {
  const ConfigValue root = read("[010, yes, 1e3, 'it''s', \"a\\nb\", a:b, 0x1F, 12:30:00]");
  const char* const expected[] = {"010", "yes", "1e3", "it's", "a\nb", "a:b", "0x1F", "12:30:00"};
  REQUIRE(root.items.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(root.items[i].scalar == expected[i]);
}

TEST_CASE("line breaks of three systems and a byte order mark") {
  const ConfigValue unix_text = read("a: 1\nb: [1,\n 2]\n");
  for (const std::string other : {"a: 1\r\nb: [1,\r\n 2]\r\n", "a: 1\rb: [1,\r 2]\r",
                                  "\xef\xbb\xbf"
                                  "a: 1\nb: [1,\n 2]\n"}) {
    const ConfigValue value = read(other);
    CHECK(value.same_content(unix_text));
    CHECK(place(value.find("b")->items[1]) == "3:2 b[1]");
  }
}

TEST_CASE("aliases repeat content under their own path") {
  const ConfigValue root = read("a: &x {k: [1, 2]}\nb: *x\n");
  CHECK(root.items[0].same_content(root.items[1]));
  CHECK(place(root.items[1].items[0].items[1]) == "1:15 b.k[1]");
  CHECK(root.items[1].keys[0].second.path == "b.k");
}

TEST_CASE("same content ignores places and idle quotes") {
  CHECK(read("{a: 1, b: [x]}").same_content(read("a: 1\nb:\n  - 'x'\n")));
  CHECK_FALSE(read("a: 1").same_content(read("a: '1'")));
  CHECK_FALSE(read("a: 1").same_content(read("b: 1")));
  CHECK_FALSE(read("[1]").same_content(read("[1, 2]")));
  CHECK_FALSE(read("a: true").same_content(read("a: 'true'")));
}

TEST_CASE("an empty text is nothing") {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~"}) CHECK(read(text).kind == Kind::null);
}

TEST_CASE("refused texts, each with one line") {
  CHECK(mistake("a: 1\na: 2\n") == "x.yaml:2:1: a: the key stands here again; it is already at line 1, column 1");
  CHECK(mistake("a:\n\tb: 1\n") == "x.yaml:2:1: a tab in the indentation; use spaces");
  CHECK(mistake("a: b: c\n").substr(0, 14) == "x.yaml:1:5: no");
  CHECK(mistake("? [a]\n: 1\n") == "x.yaml:1:3: a key must be plain text, not a list or a map");
  CHECK(mistake(": 1\n") == "x.yaml:1:1: a key is empty");
  CHECK(mistake("a: &x b\n*x : 3\n") == "x.yaml:2:1: an alias cannot be a key; write the key out");
  CHECK(mistake("a: 1\n<<: {b: 1}\n") == "x.yaml:2:1: the merge key \"<<\" is not read; write the keys out");
  CHECK(mistake("a: !x 1\n") == "x.yaml:1:4: a: the tag \"!x\" is not read; remove it");
  CHECK(mistake("a: &x [*x]\n") == "x.yaml:1:8: a[0]: an alias inside its own anchor repeats without end");
  CHECK(mistake("a: *x\n") == "x.yaml:1:4: not valid YAML: the alias names no anchor above it");
  CHECK(mistake("a: é\xc3\n") == "x.yaml:1:5: not valid UTF-8 (byte 0xc3)");
  CHECK(mistake("a: \xed\xa0\x80\n") == "x.yaml:1:4: not valid UTF-8 (byte 0xed)");
  CHECK(mistake("a: \xc0\xaf\n") == "x.yaml:1:4: not valid UTF-8 (byte 0xc0)");
  CHECK(mistake("a: \x07\n") == "x.yaml:1:4: a control character (0x07) in the text");
  CHECK(mistake("a: 'b\n") == "x.yaml:1:6: not valid YAML: a quote is not closed");
  CHECK(mistake("a: 1\n---\nb: 2\n") == "x.yaml:3:1: a second document begins here; one file holds one document");
  CHECK(mistake("%YAML 3.0\n---\na: 1\n") == "x.yaml:1:1: not valid YAML: YAML major version too large");
}

TEST_CASE("documents that explode are stopped") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = fmt::format("*a{}", i - 1);
    bomb += fmt::format("a{}: &a{} [{}", i, i, before);
    for (int j = 1; j < 10; ++j) bomb += fmt::format(", {}", before);
    bomb += "]\n";
  }
  CHECK(mistake(bomb).find("the document has more than 1000000 values, aliases expanded") != std::string::npos);
  CHECK(mistake(std::string(300, '[') + std::string(300, ']')).find("nested more than 100 levels deep") !=
        std::string::npos);
  CHECK_FALSE(mistake(std::string(100'000, '[')).empty());
  CHECK_FALSE(mistake(std::string(100'000, '{')).empty());
  std::string stairs;
  for (int i = 0; i < 2000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(mistake(stairs).find("nested more than 100 levels deep") != std::string::npos);
}

TEST_CASE("several documents in one text") {
  Diagnostics diagnostics;
  const auto all = read_yaml_documents("a: 1\n---\nb: 2\n...\n---\n- c\n", "x.yaml", diagnostics);
  CHECK(diagnostics.empty());
  REQUIRE(all.size() == 3);
  CHECK(all[1].find("b")->place.line == 3);
  CHECK(read_yaml_documents("", "x.yaml", diagnostics).empty());
  CHECK(read_yaml_documents("a: 1\n---\nb: [\n", "x.yaml", diagnostics).size() == 1);
  CHECK(diagnostics.all().size() == 1);
  CHECK(read_yaml_documents("- a\nb: 1\n", "x.yaml", diagnostics).size() == 1);
  CHECK(diagnostics.all().size() == 2);
}

TEST_CASE("files that cannot be read") {
  CHECK(file_mistake("/nowhere/x.yaml") == "/nowhere/x.yaml: no such file");
  CHECK(file_mistake("/tmp") == "/tmp: is a folder, not a file");
  CHECK(file_mistake("/dev/zero") == "/dev/zero: is larger than 32 MB");
  CHECK(file_mistake("").substr(0, 2) == ": ");
}

TEST_CASE("a file is read under the name the user gave") {
  const TemporaryFile file("a: 1\n");
  Diagnostics diagnostics;
  const ConfigValue root = read_yaml_file(file.path, diagnostics);
  CHECK(diagnostics.empty());
  CHECK(root.place.file->name == file.path);
  CHECK(root.find("a")->scalar == "1");
}

TEST_CASE("damaged text never does worse than a message") {
  const std::string sound =
      "cluster:\n  nodes:\n    - {name: a100, count: 2, nic: 100 Gbps}\n    - &v {name: 'v', memory: \"40 GiB\"}\n"
      "  fabric: [*v, {kind: fat_tree}]\nrun: |\n  text\n  more\nlist:\n- a\n- - b\n  - ? k\n    : v\n";
  std::mt19937 random(20261130);
  const std::string marks =
      "\n\t :-[]{}&*!|>'\"%@`#,?~\\\x01\xc3\xff"
      "0aA";
  for (int round = 0; round < 4000; ++round) {
    std::string text = sound;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      const char mark = marks[random() % marks.size()];
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 8);
      else if (random() % 2 == 0)
        text[at] = mark;
      else
        text.insert(at, 1, mark);
      if (text.empty()) text = "x";
    }
    Diagnostics diagnostics;
    (void)read_yaml_documents(text, "x.yaml", diagnostics);
    for (const Diagnostic& found : diagnostics.all()) {
      CHECK(found.place.line >= 1);
      CHECK(found.place.column >= 1);
    }
  }
}
