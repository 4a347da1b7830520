#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/report/output_file.hpp"
#include "sim/sweep/axis.hpp"
#include "sim/sweep/store.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

using Values = std::vector<std::string>;

std::string mistake(const std::string& text) {
  try {
    static_cast<void>(parse_axis(text));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// A path in a folder of this test, nothing there.
std::string fresh(const std::string& name) {
  const auto path =
      std::filesystem::temp_directory_path() / ("trainyard-sweep-" + std::to_string(::getpid()) + "-" + name);
  for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + ending);
  return path.string();
}

const SweepIdentity kIdentity{{"scenario", "a"}, {"version", "1"}};

}  // namespace

TEST_CASE("values of an axis: lists, ranges, units, brackets and quotes") {
  CHECK(parse_axis("a.b=1,2").key == "a.b");
  CHECK(parse_axis("a=1, x ,3").values == Values{"1", "x", "3"});
  CHECK(parse_axis("a=1..4").values == Values{"1", "2", "3", "4"});
  CHECK(parse_axis("a=0..1..0.25").values == Values{"0", "0.25", "0.5", "0.75", "1"});
  CHECK(parse_axis("a=0..1..0.1").values.size() == 11);
  CHECK(parse_axis("a=25..100..25 Gbps").values == Values{"25 Gbps", "50 Gbps", "75 Gbps", "100 Gbps"});
  CHECK(parse_axis("a=1..2 us").values == Values{"1 us", "2 us"});
  CHECK(parse_axis("a=8,1..2").values == Values{"8", "1", "2"});
  CHECK(parse_axis("a=[1,2],{b: 1, c: 2},\"x,y\"").values == Values{"[1,2]", "{b: 1, c: 2}", "\"x,y\""});
  CHECK(parse_axis("a=../m.json,./n.json").values == Values{"../m.json", "./n.json"});
}

TEST_CASE("a wrong axis is one line") {
  CHECK(mistake("a") == "--set a: it is KEY=V1,V2.. or KEY=LO..HI..STEP, such as cluster.nodes.a100.count=1..4");
  CHECK(mistake("=1") == "--set =1: it is KEY=V1,V2.. or KEY=LO..HI..STEP, such as cluster.nodes.a100.count=1..4");
  CHECK(mistake("a=1,,2") == "--set a=1,,2: a value is empty");
  CHECK(mistake("a=4..1") == "--set a=4..1: the range 4..1 goes down");
  CHECK(mistake("a=1..4..0") == "--set a=1..4..0: the step of a range is more than 0");
  CHECK(mistake("a=1 us..4 us") == "--set a=1 us..4 us: the unit of a range stands once, after its last number");
  CHECK(mistake("a=1..4..x") == "--set a=1..4..x: the step \"x\" is no number");
  CHECK(mistake("a=0..1e9..1e-3") == "--set a=0..1e9..1e-3: more than 1000000 values");
}

TEST_CASE("points of a grid, the last axis turns fastest") {
  const std::vector<SweepAxis> axes{{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}};
  CHECK(count_points(axes) == 6);
  CHECK(count_points({}) == 1);
  using Settings = std::vector<std::pair<std::string, std::string>>;
  CHECK(settings_at(axes, 0) == Settings{{"a", "1"}, {"b", "x"}});
  CHECK(settings_at(axes, 4) == Settings{{"a", "2"}, {"b", "y"}});
  CHECK_THROWS_WITH(count_points({{"a", {"1"}}, {"a", {"2"}}}), "--set a: the key stands twice");
  const SweepAxis wide{"a", Values(2000, "1")};
  CHECK_THROWS_WITH(count_points({wide, {"b", wide.values}}), "the sweep has more than 1000000 points");
}

TEST_CASE("a store keeps whole points, in order, and what is there stays") {
  const std::string path = fresh("order");
  {
    SweepStore store = SweepStore::open(path, kIdentity);
    store.add({{7, 0, "{\"a\":1}"}, {7, 1, "{}"}});
    store.add({{2, 0, "two"}});
    store.add({{2, 0, "another"}});
  }
  const SweepStore again = SweepStore::open(path, kIdentity);
  CHECK(again.points() == std::set<std::size_t>{2, 7});
  CHECK(again.rows() == std::vector<SweepRow>{{2, 0, "two"}, {7, 0, "{\"a\":1}"}, {7, 1, "{}"}});
  fresh("order");
}

TEST_CASE("two processes may add to one store") {
  const std::string path = fresh("two");
  SweepStore one = SweepStore::open(path, kIdentity), other = SweepStore::open(path, kIdentity);
  one.add({{0, 0, "zero"}});
  other.add({{1, 0, "one"}});
  CHECK(one.points() == std::set<std::size_t>{0, 1});
  fresh("two");
}

TEST_CASE("a store of another sweep, or no store, is refused in one line") {
  const std::string path = fresh("other");
  static_cast<void>(SweepStore::open(path, kIdentity));
  SweepIdentity other = kIdentity;
  other["scenario"] = "b";
  CHECK_THROWS_WITH(
      SweepStore::open(path, other),
      path +
          ": holds the results of another sweep: its scenario differs; give --store another file, or remove this one");
  fresh("other");
  std::ofstream(path)
      << "this is a text and no database, and long enough to be read as one .............................";
  CHECK_THROWS_WITH(SweepStore::open_to_read(path), path + ": no sweep store: file is not a database");
  CHECK_THROWS_AS(SweepStore::open("/no/such/folder/x", kIdentity), OutputError);
  CHECK_THROWS_WITH(SweepStore::open_to_read(path + ".not"), path + ".not: no such file");
  fresh("other");
}

}  // namespace trainyard
