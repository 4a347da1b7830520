// What a schema accepts.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/config/sample_schema.hpp"

using namespace trainyard;

namespace {

bool accepts(const Schema& schema, const std::string& document) {
  Diagnostics diagnostics;
  const ConfigValue value = read_yaml_text(document, "x.yaml", diagnostics);
  const bool fine = check(value, schema, diagnostics);
  CHECK(fine == diagnostics.empty());
  return fine;
}

}  // namespace

TEST_CASE("a whole document in order") {
  CHECK(accepts(test::sample_schema(),
                "nodes:\n"
                "  - {name: a, gpu: A100-SXM4-80GB, count: 2, memory: 1.1 TiB, nic: 100 Gbps, price: 12.24 USD/h}\n"
                "  - {name: 7, gpu: \"V100-SXM2-16GB\", memory: 512GB}\n"
                "fabric: {kind: fat_tree, oversubscription: 2.5, latency: 1 us, adaptive: true}\n"
                "model: llama\nmicro_batch: auto\nvariants: {a: 0, b: 1e-3}\noptions: {x: [1, {y: }]}\n"));
}

TEST_CASE("whole numbers") {
  const Schema any_integer = schema::integer({}, "");
  for (const char* text : {"0", "-7", "+7", "9223372036854775807", "-9223372036854775808"})
    CHECK(accepts(any_integer, text));
  for (const char* text : {"9223372036854775808", "-0x1", "1.0", "1e3", "007", "--1", "1 000", "''", "1,000", "0b1"})
    CHECK_FALSE(accepts(any_integer, text));
}

TEST_CASE("numbers") {
  const Schema any_number = schema::number({}, "");
  for (const char* text : {"0", "-7.5", ".5", "5.", "1e-3", "300e9", "+1E+2"}) CHECK(accepts(any_number, text));
  for (const char* text : {"nan", ".nan", "inf", "-.inf", "1e999", "1e-999", "01.5", "1_0", "0x1p3", "1.2.3", "'1'"})
    CHECK_FALSE(accepts(any_number, text));
}

TEST_CASE("bounds are inclusive unless above") {
  CHECK(accepts(schema::number(between(0, 1), ""), "0"));
  CHECK(accepts(schema::number(between(0, 1), ""), "1"));
  CHECK_FALSE(accepts(schema::number(above(0, 1), ""), "0"));
  CHECK(accepts(schema::quantity(Dimension::seconds, above(0, 3600), ""), "1 h"));
  CHECK_FALSE(accepts(schema::quantity(Dimension::seconds, above(0, 3600), ""), "1.001 h"));
}

TEST_CASE("alternatives are chosen by what they accept") {
  using namespace schema;
  const Schema scalar =
      one_of({integer(between(1, 8), ""), quantity(Dimension::bytes, above(0, 1e12), ""), boolean("")}, "");
  for (const char* text : {"4", "25 MB", "false"}) CHECK(accepts(scalar, text));
  for (const char* text : {"9", "25", "25 s", "no", "[1]"}) CHECK_FALSE(accepts(scalar, text));
  const Schema maps = one_of({object({required("a", any(""))}, ""), object({required("b", any(""))}, ""),
                              list(integer({}, ""), {}, ""), one_of({text("")}, "")},
                             "");
  for (const char* text : {"{a: 1}", "{b: 1}", "[1, 2]", "word"}) CHECK(accepts(maps, text));
  for (const char* text : {"{a: 1, b: 1}", "{}", "[x]", "''"}) CHECK_FALSE(accepts(maps, text));
}

TEST_CASE("an unreadable document has one complaint, not two") {
  Diagnostics diagnostics;
  const ConfigValue value = read_yaml_text("nodes: [", "x.yaml", diagnostics);
  CHECK_FALSE(check(value, test::sample_schema(), diagnostics));
  CHECK(diagnostics.all().size() == 1);
}

TEST_CASE("any value of a known key is accepted or refused with a message, never an exception") {
  const char* const values[] = {"~",      "",        "1",       "-1",   "1.5",   "010",
                                "nan GB", "1 GB",    "x",       "''",   "[]",    "[[]]",
                                "{}",     "{a: {}}", "\"\\0\"", "true", "1e400", "99999999999999999999",
                                "é",      "*",       "- 1"};
  const char* const keys[] = {"nodes", "fabric", "model", "micro_batch", "variants", "options", "other"};
  for (const char* key : keys)
    for (const char* value : values) {
      Diagnostics diagnostics;
      const std::string text = fmt::format("{}: {}\n", key, value);
      const ConfigValue read = read_yaml_text(text, "x.yaml", diagnostics);
      check(read, test::sample_schema(), diagnostics);
      CHECK(diagnostics.text().empty() == diagnostics.empty());
    }
}
