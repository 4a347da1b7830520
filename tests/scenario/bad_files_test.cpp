// Every file in bad/ is refused with exactly the text beside it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> bad_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(TRAINYARD_SOURCE_DIR) / "tests/scenario/bad"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// What loading says, or "" when it goes well.
std::string complaint(const fs::path& file) {
  try {
    (void)load_scenario_text(read(file), file.filename().string(), file.parent_path().string());
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string without_last_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("bad scenario files are refused with exactly this text") {
  const std::vector<fs::path> files = bad_files();
  REQUIRE(files.size() >= 20);
  for (const fs::path& file : files) {
    DYNAMIC_SECTION(file.stem().string()) {
      fs::path expected = file;
      expected.replace_extension(".txt");
      CHECK(without_last_newline(complaint(file)) == without_last_newline(read(expected)));
    }
  }
}
