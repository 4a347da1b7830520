#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/units/error.hpp"
#include "validation/data_set.hpp"

using namespace trainyard;

namespace {

Measurement sample() {
  Measurement m;
  m.id = "a_1";
  m.source = "toy";
  m.file = "toy.csv";
  m.citation = "a \"quoted\" table, row: 3 #1";
  m.gpu = "2 x A; 3 x B";
  m.gpus = 8;
  m.model = "true";
  m.group = "toy/x";
  m.step_time_s = 1.25;
  m.peak_memory_bytes = 42.5e9;
  m.out_of_memory = false;
  m.memory_kind = MemoryKind::device;
  m.cluster = "{nodes: [{name: a, gpu: T4}]}";
  m.workload = "{model: gpt2, global_batch: 8}";
  m.plan = "{tensor: 2, layers: [3, 4]}";
  return m;
}

std::string written(const std::string& text) {
  const std::string path = (std::filesystem::temp_directory_path() / ("trainyard_measurements_test_" + std::to_string(::getpid()) + ".yaml")).string();
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("measurements read back") {
  const std::string text = to_measurement_yaml({sample(), sample()});
  const auto read = read_measurement_yaml(written(text));
  REQUIRE(read.size() == 2);
  CHECK(to_measurement_yaml(read) == text);
  CHECK(read[0].citation == sample().citation);
  CHECK(read[0].model == "true");
  CHECK(read[0].step_time_s == 1.25);
  CHECK(read[0].memory_kind == MemoryKind::device);
  CHECK(read[0].out_of_memory == false);
  CHECK(read[1].plan == sample().plan);
  CHECK(text.find("c2:") == std::string::npos);
}

TEST_CASE("a name that no section has is a mistake") {
  std::string text = to_measurement_yaml({sample()});
  text.replace(text.find("cluster: c1"), 11, "cluster: c9");
  CHECK_THROWS_AS(read_measurement_yaml(written(text)), UserError);
}
