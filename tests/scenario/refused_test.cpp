// Scenario files that the program refuses: status 2, exactly the text beside the file, and nothing simulated or written.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "tests/cli/program.hpp"

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(TRAINYARD_SOURCE_DIR) / "tests/scenario/refused";

/// Their names without folder, sorted.
std::vector<std::string> refused_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string expected(const std::string& file) {
  return content((kFolder / file).replace_extension(".txt").string());
}

/// What loading says, with the line's end that the program adds, or "" when it goes well.
std::string complaint(const std::string& file) {
  try {
    (void)load_scenario(file);
  } catch (const UserError& error) {
    return std::string(error.what()) + "\n";
  }
  return "";
}

/// Messages have no path while this stands.
class InFolder {
 public:
  InFolder() : before_(fs::current_path()) { fs::current_path(kFolder); }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

}  // namespace

TEST_CASE("refused scenario files are refused with exactly this text") {
  const InFolder here;
  const std::vector<std::string> files = refused_files();
  REQUIRE(files.size() >= 60);
  for (const std::string& file : files) {
    INFO(file);
    CHECK(complaint(file) == expected(file));
  }
}

TEST_CASE("the program refuses them with status 2, and simulates and writes nothing") {
  std::string names, texts;
  for (const std::string& file : refused_files()) {
    names += " " + file;
    texts += expected(file);
  }
  const TemporaryFolder folder;
  for (const char* verb : {"run", "compare", "explain"}) {
    const Ended ended = trainyard_program(verb + names + " --out " + folder.file("out"), "cd '" + kFolder.string() + "' &&");
    INFO(verb);
    CHECK(ended.status == 2);
    CHECK(ended.err == texts);
    CHECK(ended.out.empty());
    CHECK(folder.listing().empty());
  }
}

TEST_CASE("every text says file, line and column, shows the line and points at the place") {
  for (const std::string& file : refused_files()) {
    INFO(file);
    CHECK_THAT(expected(file), Catch::Matches("[a-z0-9-]+\\.(yaml|plan|json):[0-9]+:[0-9]+: (.|\n)*\n *\\^\n"));
  }
}

TEST_CASE("what is no readable file is named with the reason") {
  const TemporaryFolder folder;
  const auto refusal = [](const std::string& file) {
    const Ended ended = trainyard_program("compare " + file);
    CHECK(ended.status == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(refusal("/nowhere/scenario.yaml") == "/nowhere/scenario.yaml: no such file\n");
  CHECK(refusal("/tmp") == "/tmp: is a folder, not a file\n");
  CHECK(refusal("/dev/zero") == "/dev/zero: is larger than 32 MB\n");
  CHECK(refusal("/proc/self/mem") == "/proc/self/mem: cannot be read: Input/output error\n");
  const std::string below = folder.file("scenario.yaml", "") + "/below";
  CHECK(refusal(below) == below + ": no such file\n");
}
