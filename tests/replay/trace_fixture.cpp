#include "tests/replay/trace_fixture.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/job/case.hpp"
#include "sim/model/execution_trace.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/error.hpp"
#include "validation/scenario_cases.hpp"
#include "workloads/traces/trace_section.hpp"

namespace trainyard::fixture {
namespace {

std::string number(int field, std::uint64_t value) {
  return ChakraText::varint(std::uint64_t(field) << 3U) + ChakraText::varint(value);
}
std::string bytes(int field, const std::string& content) {
  return ChakraText::varint((std::uint64_t(field) << 3U) | 2U) + ChakraText::varint(content.size()) + content;
}

std::string packed(int field, const std::vector<std::uint64_t>& values) {
  if (values.empty()) return "";
  std::string content;
  for (const std::uint64_t value : values) content += ChakraText::varint(value);
  return bytes(field, content);
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
  return text;
}

std::string scenario_text(const std::string& path, const ReplaySetting& setting) {
  return "cluster: {nodes: [{name: a, gpu: " + setting.gpu + ", gpus_per_node: " + std::to_string(setting.gpus) +
         ", count: " + std::to_string(setting.nodes) + ", nics: 8, nic: " + setting.nic +
         ", price: 30 USD/h}], fabric: {kind: star}}\nworkload: {trace: \"" + path + "\"" + setting.more + "}\n";
}

}  // namespace

std::string ChakraText::varint(std::uint64_t value) {
  std::string made;
  for (; value > 127; value >>= 7U) made += char(value | 128U);
  return made + char(value);
}
std::string ChakraText::integer(const std::string& name, std::uint64_t value, int field) {
  return bytes(1, name) + number(field, value);
}
std::string ChakraText::text(const std::string& name, const std::string& value) {
  return bytes(1, name) + bytes(29, value);
}

std::string ChakraText::node(const Node& node) {
  std::string content = (node.id > 0 ? number(1, node.id) : "") + bytes(2, node.name) +
                        number(3, std::uint64_t(node.type)) + packed(4, node.control) + packed(5, node.data);
  if (node.micros > 0) content += number(7, node.micros);
  for (const std::string& attribute : node.attributes) content += bytes(10, attribute);
  return varint(content.size()) + content;
}

std::string ChakraText::metadata(const std::string& version) {
  const std::string content = bytes(1, version);
  return varint(content.size()) + content;
}

ChakraText::Node ChakraText::collective(std::uint64_t id, int kind, std::uint64_t size,
                                        std::vector<std::uint64_t> data) {
  return {id,
          "exchange",
          7,
          0,
          std::move(data),
          {},
          {integer("comm_type", std::uint64_t(kind)), integer("comm_size", size)}};
}

TraceFolder::TraceFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "trainyard-trace-XXXXXX").string();
  path_ = mkdtemp(name.data());
}
TraceFolder::~TraceFolder() { std::filesystem::remove_all(path_); }
void TraceFolder::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ + "/" + name, std::ios::binary) << content;
}

void TraceFolder::write_chakra(const std::vector<std::vector<ChakraText::Node>>& ranks) const {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string content = ChakraText::metadata();
    for (const ChakraText::Node& node : ranks[rank]) content += ChakraText::node(node);
    write("t." + std::to_string(rank) + ".et", content);
  }
}

Replay replay(const std::string& path, const ReplaySetting& setting) {
  Replay made;
  try {
    const Scenario scenario = load_scenario_text(scenario_text(path, setting), "s.yaml", ".");
    CaseOptions options;
    ExecutionTrace against;
    if (!setting.against.empty()) {
      against = read_trace(setting.against, "");
      options.against = &against;
    }
    const WorkerNursery nursery = WorkerNursery::start();
    made.result = run_case(case_of(scenario, scenario.variants[0], scenario.strategies[0]), options, nursery);
    if (made.result.status != CaseStatus::ok) made.error = made.result.reason;
  } catch (const UserError& error) {
    const std::string text = error.what();
    made.error = text.substr(0, text.find('\n'));
  }
  return made;
}

Replay replay(const TraceFolder& folder, const ReplaySetting& setting) {
  Replay made = replay(setting.trace.empty() ? folder.path() : folder.path() + "/" + setting.trace, setting);
  made.error = without(without(made.error, folder.path() + "/"), "s.yaml:2:19: workload.trace: ");
  return made;
}

}  // namespace trainyard::fixture
