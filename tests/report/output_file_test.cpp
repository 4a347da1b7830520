#include "sim/report/output_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

using namespace trainyard;
namespace fs = std::filesystem;

namespace {

/// A folder of its own that goes away with the test.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "trainyard-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() {
    fs::permissions(path, fs::perms::owner_all);
    fs::remove_all(path);
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a file is written whole and nothing else stays") {
  const Folder folder;
  const std::string text(300000, 'x');
  write_file((folder.path / "out.json").string(), text);
  CHECK(content(folder.path / "out.json") == text);
  CHECK(folder.files() == 1);
}

TEST_CASE("a file that exists is replaced and keeps its permissions") {
  const Folder folder;
  const fs::path file = folder.path / "out";
  std::ofstream(file) << "before";
  ::chmod(file.c_str(), 0640);
  write_file(file.string(), "after");
  CHECK(content(file) == "after");
  CHECK((fs::status(file).permissions() & fs::perms::all) == fs::perms(0640));
}

TEST_CASE("a new file is as readable as the mask allows") {
  const Folder folder;
  const mode_t before = ::umask(022);
  write_file((folder.path / "out").string(), "text");
  ::umask(before);
  CHECK((fs::status(folder.path / "out").permissions() & fs::perms::all) == fs::perms(0644));
}

TEST_CASE("a symbolic link keeps standing") {
  const Folder folder;
  std::ofstream(folder.path / "target") << "before";
  fs::create_symlink("target", folder.path / "link");
  write_file((folder.path / "link").string(), "after");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(content(folder.path / "target") == "after");
}

TEST_CASE("devices are written to, never replaced") {
  write_file("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_THROWS_WITH(write_file("/dev/full", "text"), "trainyard: cannot write /dev/full: No space left on device");
}

TEST_CASE("what cannot be written is said in one line") {
  const Folder folder;
  const std::string missing = (folder.path / "none" / "out").string();
  CHECK_THROWS_WITH(write_file(missing, "text"), "trainyard: cannot write " + missing + ": No such file or directory");
  CHECK_THROWS_AS(write_file(missing, "text"), OutputError);
  CHECK_THROWS_WITH(write_file(folder.path.string(), "text"), Catch::EndsWith("Is a directory"));
}

TEST_CASE("a closed pipe is an output error") {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  CHECK_THROWS_WITH(write_all(ends[1], "text", "standard output"),
                    "trainyard: cannot write standard output: Broken pipe");
  ::close(ends[1]);
}
