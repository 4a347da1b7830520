#include "tests/lowering/golden/picture_file.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace trainyard::golden {
namespace {

constexpr const char* kPictureBegins = "one column: ";

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool redraws() {
  const char* value = std::getenv("TRAINYARD_REDRAW");
  return value && std::string(value) == "1";
}

}  // namespace

void check_picture(const std::string& name, const std::string& picture) {
  const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/tests/lowering/golden/" + name + ".txt";
  const std::string kept = read(path);
  const std::size_t begin = kept.find(kPictureBegins);
  const std::string words = kept.substr(0, begin), old = begin == std::string::npos ? "" : kept.substr(begin);
  if (picture != old && redraws()) {
    std::ofstream(path) << words << picture;
    FAIL("drawn again, look at it: " << path << "\n" << picture);
  }
  INFO(path << "\ndrawn now:\n" << picture << "kept:\n" << old);
  CHECK((picture == old));
  CHECK(words.find_first_not_of(" \n") != std::string::npos);
}

}  // namespace trainyard::golden
