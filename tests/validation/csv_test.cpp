#include "validation/csv.hpp"

#include <catch2/catch.hpp>

#include "sim/units/error.hpp"

using namespace trainyard;

TEST_CASE("cells in quotes hold commas, quotes and lines") {
  const CsvTable table = read_csv_text("a,b\r\n\"x, \"\"y\"\"\nz\",2\r\n,\n", "t.csv");
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0]["a"] == "x, \"y\"\nz");
  CHECK(table.rows[0].number("b") == 2.0);
  CHECK(table.rows[1]["a"].empty());
  CHECK(table.rows[0]["no such column"].empty());
}

TEST_CASE("numbers are finite or absent") {
  const CsvTable table = read_csv_text("a,b,c,d\n1.5,x,inf,8.0\n", "t.csv");
  const CsvRow& row = table.rows.at(0);
  CHECK(row.number("a") == 1.5);
  CHECK_FALSE(row.number("b"));
  CHECK_FALSE(row.number("c"));
  CHECK(row.count("d") == 8);
  CHECK(row.count_or("missing", 3) == 3);
  CHECK_THROWS_WITH(row.count("b"), "b is not given");
  CHECK_THROWS_WITH(row.count("a"), "a 1.5 is no count of at least 1");
}

TEST_CASE("broken tables are the user's mistake") {
  CHECK_THROWS_AS(read_csv_text("a\n1,2\n", "t.csv"), UserError);
  CHECK_THROWS_WITH(read_csv_text("a\n\"1\n", "t.csv"), "t.csv: a quote in row 2 does not end");
  CHECK_THROWS_WITH(read_csv("no/such.csv"), "cannot read \"no/such.csv\"");
  CHECK(read_csv_text("", "t.csv").rows.empty());
}

TEST_CASE("a cell reads back") {
  for (const std::string text : {"plain", "a,b", "say \"x\"", "two\nlines"})
    CHECK(read_csv_text("h\n" + csv_cell(text) + "\n", "t.csv").rows.at(0)["h"] == text);
}
