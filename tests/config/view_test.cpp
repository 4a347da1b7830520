// Taking values out of a document.
#include "sim/config/view.hpp"

#include <catch2/catch.hpp>

#include "sim/units/error.hpp"

using namespace trainyard;

namespace {

ConfigValue document() {
  Diagnostics diagnostics;
  return read_yaml_text(
      "name: a100\ncount: 12\nshare: 0.5\non: true\nsize: 40 GiB\nrate: 400 Gbps\nprice: 12.24 USD/h\n"
      "list: [1, 2, 3]\nempty:\nmap: {k: v, l: w}\nquoted: '12'\n",
      "x.yaml", diagnostics);
}

}  // namespace

TEST_CASE("values of every type") {
  const ConfigValue value = document();
  const View root(value);
  CHECK(root["name"].text() == "a100");
  CHECK(root["count"].integer() == 12);
  CHECK(root["count"].number() == 12.0);
  CHECK(root["count"].text() == "12");
  CHECK(root["share"].number() == 0.5);
  CHECK(root["on"].boolean());
  CHECK(root["size"].quantity<Bytes>() == 40_GiB);
  CHECK(root["rate"].quantity<BytesPerSecond>() == 50_GBps);
  CHECK(root["price"].quantity<DollarsPerSecond>() == dollars_per_hour(12.24));
  CHECK(root["list"].size() == 3);
  CHECK(root["list"].at(2).integer() == 3);
  CHECK(root["map"].keys() == std::vector<std::string>{"k", "l"});
  CHECK(root["map"].is_map());
  CHECK(root["list"].is_list());
  CHECK(root["name"].is_scalar());
  CHECK(root["map"]["l"].place().path == "map.l");
  CHECK(&root.value() == &value);
}

TEST_CASE("absent values give the fallback") {
  const ConfigValue value = document();
  const View root(value);
  CHECK_FALSE(root["nothing"]);
  CHECK_FALSE(root["empty"]);
  CHECK_FALSE(View());
  CHECK_FALSE(root["nothing"]["below"]);
  CHECK(root["nothing"].text_or("x") == "x");
  CHECK(root["nothing"].integer_or(3) == 3);
  CHECK(root["empty"].number_or(2.5) == 2.5);
  CHECK(View().boolean_or(true));
  CHECK(root["nothing"].quantity_or(3_ms) == 3_ms);
  CHECK(root["size"].quantity_or(1_GB) == 40_GiB);
  CHECK(root["nothing"].size() == 0);
  CHECK(root["nothing"].keys().empty());
}

TEST_CASE("a surprise is a bug") {
  const ConfigValue value = document();
  const View root(value);
  CHECK_THROWS_AS(root["nothing"].text(), InternalError);
  CHECK_THROWS_AS(root["empty"].integer(), InternalError);
  CHECK_THROWS_AS(root["name"].integer(), InternalError);
  CHECK_THROWS_AS(root["quoted"].integer(), InternalError);
  CHECK_THROWS_AS(root["quoted"].number(), InternalError);
  CHECK_THROWS_AS(root["name"].boolean(), InternalError);
  CHECK_THROWS_AS(root["size"].quantity<Seconds>(), InternalError);
  CHECK_THROWS_AS(root["list"].at(3), InternalError);
  CHECK_THROWS_AS(root["list"]["k"], InternalError);
  CHECK_THROWS_AS(root["list"].keys(), InternalError);
  CHECK_THROWS_AS(View().place(), InternalError);
  CHECK_THROWS_WITH(root["name"].integer(), "name was read as a whole number but holds text \"a100\"");
}
