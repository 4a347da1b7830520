// The arrows between the parts (design.md §1): nobody includes what the table does not allow, and only the engine sees
// SimGrid.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Parts = std::set<std::string>;

/// The table of design.md §1, without what follows from it.
const std::map<std::string, Parts>& allowed_arrows() {
  static const std::map<std::string, Parts> arrows{
      {"sim/units", {}},
      {"sim/config", {"sim/units"}},
      {"sim/model", {"sim/units"}},
      {"sim/routing", {"sim/model"}},
      {"sim/cost", {"sim/model"}},
      {"sim/lowering", {"sim/model", "sim/cost", "sim/routing"}},
      {"sim/engine", {"sim/model"}},
      {"sim/planning", {"sim/model", "sim/cost", "sim/routing", "sim/config"}},
      {"sim/job", {"sim/engine", "sim/lowering", "sim/planning"}},
      {"topologies", {"sim/model", "sim/config"}},
      {"workloads", {"sim/model", "sim/config"}},
      {"strategies", {"sim/planning", "sim/model", "sim/cost", "sim/routing", "sim/config"}},
      {"sim/scenario", {"topologies", "workloads", "sim/planning", "sim/config"}},
      {"sim/report", {"sim/model"}},
      {"sim/sweep", {"sim/report"}},
      {"sim/cli", {"sim/job", "sim/scenario", "sim/report", "sim/sweep", "strategies", "validation"}},
      {"validation", {"sim/job", "sim/scenario", "sim/report", "strategies"}}};
  return arrows;
}

/// Everything that follows from the arrows, the part itself among it.
Parts reachable(const std::string& part) {
  Parts seen{part};
  std::vector<std::string> open{part};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    for (const std::string& target : allowed_arrows().at(next))
      if (seen.insert(target).second) open.push_back(target);
  }
  return seen;
}

/// The part that a path from the root of the tree belongs to, or "".
std::string part_of(const std::string& path) {
  for (const auto& [part, targets] : allowed_arrows())
    if (path.starts_with(part + "/")) return part;
  return "";
}

struct Include {
  std::string file, target;
  int line = 0;
  bool quoted = true;
};

std::vector<Include> includes_in(const std::string& text, const std::string& file) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>))re");
  std::vector<Include> found;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, pattern))
      found.push_back({file, match[1].matched ? match[1].str() : match[2].str(), number, match[1].matched});
  }
  return found;
}

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Include> includes_of_tree() {
  const fs::path root(TRAINYARD_SOURCE_DIR);
  std::vector<Include> all;
  for (const char* top : {"sim", "topologies", "workloads", "strategies", "validation"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      const auto here = includes_in(read(entry.path()), fs::relative(entry.path(), root).generic_string());
      all.insert(all.end(), here.begin(), here.end());
    }
  }
  return all;
}

bool is_simgrid(const std::string& target) { return target.starts_with("simgrid/") || target.starts_with("xbt/"); }

/// What is wrong with one include, or "".
std::string complaint(const Include& include) {
  const std::string at = include.file + ":" + std::to_string(include.line) + ": ";
  const std::string from = part_of(include.file);
  if (is_simgrid(include.target)) return from == "sim/engine" ? "" : at + "only sim/engine may include SimGrid";
  if (!include.quoted) return "";
  const std::string to = part_of(include.target);
  if (to.empty()) return at + "\"" + include.target + "\" is no path from the root of the tree";
  if (reachable(from).count(to) == 0) return at + from + " may not include " + to;
  return "";
}

}  // namespace

TEST_CASE("every include follows the arrows of the design") {
  const std::vector<Include> includes = includes_of_tree();
  REQUIRE(includes.size() > 100);
  std::vector<std::string> complaints;
  for (const Include& include : includes)
    if (const std::string text = complaint(include); !text.empty()) complaints.push_back(text);
  std::sort(complaints.begin(), complaints.end());
  std::string all;
  for (const std::string& text : complaints) all += text + "\n";
  INFO(all);
  CHECK(complaints.empty());
}

TEST_CASE("every part of the tree is in the table") {
  for (const auto& entry : fs::directory_iterator(fs::path(TRAINYARD_SOURCE_DIR) / "sim"))
    if (entry.is_directory()) {
      INFO(entry.path().filename().string());
      CHECK(allowed_arrows().count("sim/" + entry.path().filename().string()) == 1);
    }
}

TEST_CASE("the table has no cycle") {
  for (const auto& [part, targets] : allowed_arrows())
    for (const std::string& target : targets) {
      INFO(part << " -> " << target);
      CHECK(reachable(target).count(part) == 0);
    }
}

TEST_CASE("forbidden includes are found") {
  const auto verdict = [](const std::string& file, const std::string& text) {
    const auto found = includes_in(text, file);
    REQUIRE(found.size() == 1);
    return complaint(found[0]);
  };
  CHECK(verdict("sim/model/plan.cpp", "#include \"sim/config/view.hpp\"\n") ==
        "sim/model/plan.cpp:1: sim/model may not include sim/config");
  CHECK(verdict("strategies/a.cpp", "\n  # include <simgrid/s4u.hpp>") ==
        "strategies/a.cpp:2: only sim/engine may include SimGrid");
  CHECK(verdict("strategies/a.cpp", "#include \"sim/engine/executor.hpp\"") ==
        "strategies/a.cpp:1: strategies may not include sim/engine");
  CHECK(verdict("sim/cost/a.cpp", "#include \"memory.hpp\"") ==
        "sim/cost/a.cpp:1: \"memory.hpp\" is no path from the root of the tree");
  CHECK(verdict("sim/cli/a.cpp", "#include \"sim/units/text.hpp\"").empty());
  CHECK(verdict("sim/engine/a.cpp", "#include <xbt/log.h>").empty());
}
