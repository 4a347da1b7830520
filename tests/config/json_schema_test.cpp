// The printed JSON Schema.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/config/sample_schema.hpp"

using namespace trainyard;
using Json = nlohmann::ordered_json;

TEST_CASE("the schema of a small object, whole") {
  using namespace schema;
  const Schema small = object(
      {required("kind", choice({"rail", "2"}, "topology")), optional("count", integer(between(1, 64), "how many"), "4"),
       optional("share", number(above(0, 0.5), "")), optional("on", boolean(""), "false")},
      "a thing");
  CHECK(to_json_schema(small, "Thing") == R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Thing",
  "description": "a thing",
  "type": "object",
  "properties": {
    "kind": {
      "description": "topology",
      "enum": [
        "rail",
        "2",
        2
      ]
    },
    "count": {
      "description": "how many",
      "type": "integer",
      "minimum": 1,
      "maximum": 64,
      "default": 4
    },
    "share": {
      "type": "number",
      "exclusiveMinimum": 0,
      "maximum": 0.5
    },
    "on": {
      "type": "boolean",
      "default": false
    }
  },
  "required": [
    "kind"
  ],
  "additionalProperties": false
}
)");
}

TEST_CASE("every kind of value has its keywords, in a stable order") {
  const std::string text = to_json_schema(test::sample_schema(), "Sample");
  CHECK(text == to_json_schema(test::sample_schema(), "Sample"));
  const Json root = Json::parse(text);
  const Json& properties = root["properties"];
  CHECK(properties.begin().key() == "nodes");
  CHECK(properties["nodes"]["minItems"] == 1);
  CHECK(properties["nodes"]["items"]["required"] == Json::parse(R"(["name", "gpu"])"));
  CHECK(properties["micro_batch"]["anyOf"].size() == 2);
  CHECK(properties["variants"]["additionalProperties"]["maximum"] == 1);
  CHECK(properties["variants"]["propertyNames"]["description"] == "variant");
  CHECK(properties["options"] == Json::parse(R"({"description": "anything"})"));
  CHECK(root["additionalProperties"] == false);
}

TEST_CASE("the pattern of a quantity accepts what the reader accepts") {
  const Json root = Json::parse(to_json_schema(schema::quantity(Dimension::bytes_per_second, above(0, 1e15), ""), "q"));
  CHECK(root["type"] == "string");
  const std::regex pattern(root["pattern"].get<std::string>(), std::regex::ECMAScript);
  for (const char* text : {"100 Gbps", "100Gbps", "1.5e3 GB/s", ".5 MB/s", "+7 GiB/s", "0 B/s", " 1  kB/s "})
    CHECK(std::regex_match(text, pattern));
  for (const char* text : {"100", "Gbps", "100 gbps", "100 GB", "010 Gbps", "1_0 Gbps", "nan Gbps", "1e Gbps"})
    CHECK_FALSE(std::regex_match(text, pattern));
  CHECK(root["examples"][0] == "100 Gbps");
}
