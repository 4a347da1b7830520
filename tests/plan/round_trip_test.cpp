#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/plan/fixture.hpp"

using namespace trainyard;
using namespace trainyard::test;

TEST_CASE("every example of the format is read, written and read back equal") {
  const auto documents = examples();
  REQUIRE(documents.size() == 27);
  for (const ConfigValue& document : documents) {
    Diagnostics diagnostics;
    const SymbolicPlan plan = read_plan(document, diagnostics);
    INFO(to_yaml(plan));
    CHECK(diagnostics.text() == "");
    const SymbolicPlan again = symbolic(to_yaml(plan));
    CHECK(again == plan);
    CHECK(to_yaml(again) == to_yaml(plan));
  }
}

TEST_CASE("the JSON of every example reads back equal, as YAML") {
  for (const ConfigValue& document : examples()) {
    Diagnostics diagnostics;
    const SymbolicPlan plan = read_plan(document, diagnostics);
    INFO(to_json(plan));
    CHECK(nlohmann::json::accept(to_json(plan)));
    CHECK(symbolic(to_json(plan)) == plan);
  }
}

TEST_CASE("the canonical text keeps the order of the grammar and leaves single levels out") {
  const char* text =
      "order: interleaved\n"
      "batch: 512\n"
      "micro_batches: 256\n"
      "layout: [data: 2, tensor: 8]\n"
      "zero: 1\n"
      "recompute: selective\n"
      "stages:\n"
      "- {devices: a100.0-1, chunks: [[embedding, 0-4], [20-24]]}\n"
      "- {devices: a100.2-3, chunks: [[5-9], [25-29]]}\n"
      "- {devices: a100.4-5, chunks: [[10-14], [30-34]]}\n"
      "- {devices: a100.6-7, chunks: [[15-19], [35-39, head]]}\n";
  CHECK(to_yaml(symbolic(text)) == text);
}

TEST_CASE("levels that say something of their own are kept") {
  const char* text =
      "zero: 1\n"
      "phases:\n"
      "- {iterations: 0-9, batch: 8, layout: [data: 8]}\n"
      "- {iterations: 10-99, batch: 8, zero: 0, stages: [{layers: [embedding, 0-3], layout: [data: 4]}, "
      "{layers: [4-7, head]}]}\n";
  CHECK(to_yaml(symbolic(text)) == text);
}

TEST_CASE("small texts of a Plan parse and print") {
  for (const char* piece : {"a100", "a100.3", "a100.0-3", "a100.0.4-7", "v100.0.0-7:2", "ps.0.ssd", "a.0-7:2.cpu"}) {
    INFO(piece);
    REQUIRE(parse_device_piece(piece));
    CHECK(to_text(*parse_device_piece(piece)) == piece);
  }
  for (const char* piece :
       {"", ".0", "a100.", "a100.x", "a100.3-1", "a100.0.gpu", "a100.0-3:0", "a100.3:2", "a100.01", "a.-1"})
    CHECK_FALSE(parse_device_piece(piece));
  for (const char* entry : {"F0", "B3.1", "R0@F2", "encoder:F3", "encoder:F3.2@train:B1.1"}) {
    INFO(entry);
    REQUIRE(parse_entry(entry));
    CHECK(to_text(*parse_entry(entry)) == entry);
  }
  for (const char* entry : {"", "F", "X0", "F0@", ":F0", "F1.", "F-1", "f0"}) CHECK_FALSE(parse_entry(entry));
  CHECK(IndexRange{0, 7, 3}.indices() == std::vector{0, 3, 6});
}
