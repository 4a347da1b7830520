// Our own form of measurements: written and read.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "validation/data_set.hpp"

namespace trainyard {
namespace {

constexpr const char* kHead =
    "# Published measurements: configuration, value, unit, source, table. `cluster` and `workload` are names of the "
    "maps above.\n";

/// A scalar that reads back as the same text; JSON's strings are YAML's.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// The same value as YAML in one line.
std::string flow(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::null:
      return "null";
    case ConfigValue::Kind::scalar:
      return value.quoted ? quoted(value.scalar) : value.scalar;
    default:
      break;
  }
  const bool is_map = value.kind == ConfigValue::Kind::map;
  std::string text;
  for (std::size_t i = 0; i < value.items.size(); ++i)
    text += (i == 0 ? "" : ", ") + (is_map ? value.keys[i].first + ": " : "") + flow(value.items[i]);
  return is_map ? "{" + text + "}" : "[" + text + "]";
}

/// Names texts in order of their first use: c1, c2, ..
class Names {
 public:
  explicit Names(char letter) : letter_(letter) {}
  std::string of(const std::string& text) {
    const auto [entry, is_new] = number_.emplace(text, number_.size() + 1);
    const std::string name = fmt::format("{}{}", letter_, entry->second);
    if (is_new) lines_ += fmt::format("  {}: {}\n", name, text);
    return name;
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  char letter_;
  std::map<std::string, std::size_t> number_;
  std::string lines_;
};

struct MemoryKey {
  MemoryKind kind;
  const char* key;
};
constexpr MemoryKey kMemoryKeys[] = {{MemoryKind::allocated, "allocated_memory"},
                                     {MemoryKind::last_stage, "last_stage_memory"},
                                     {MemoryKind::device, "device_memory"}};

const char* key_of(MemoryKind kind) {
  return std::find_if(std::begin(kMemoryKeys), std::end(kMemoryKeys), [&](const MemoryKey& k) { return k.kind == kind; })->key;
}

std::string line_of(const Measurement& m, Names& clusters, Names& workloads) {
  std::string text = fmt::format(
      "  - {{id: {}, table: {}, gpu: {}, gpus: {}, model: {}, group: {}, cluster: {}, workload: {}, plan: {}",
      quoted(m.id), quoted(m.file), quoted(m.gpu), m.gpus, quoted(m.model), quoted(m.group), clusters.of(m.cluster),
      workloads.of(m.workload), m.plan);
  if (m.step_time_s) text += fmt::format(", step_time: {} s", *m.step_time_s);
  if (m.peak_memory_bytes) text += fmt::format(", {}: {} B", key_of(m.memory_kind), *m.peak_memory_bytes);
  if (m.out_of_memory) text += fmt::format(", out_of_memory: {}", *m.out_of_memory);
  return text + fmt::format(", source: {}}}\n", quoted(m.citation));
}

Schema form() {
  using namespace schema;
  const Schema seconds = quantity(Dimension::seconds, above(0, 1e9), "measured time of a step");
  const Schema bytes = quantity(Dimension::bytes, above(0, 1e15), "measured peak of a device");
  const Schema line = object(
      {required("id", text("unique in its table")), required("table", text("file it was read from")),
       required("gpu", text("as its source says")), required("gpus", integer(between(0, 1e9), "count")),
       required("model", text("as its source says")), required("group", text("near-copies of one job")),
       required("cluster", text("name")), required("workload", text("name")),
       required("plan", any("options of `fixed`")), optional("step_time", seconds), optional("device_memory", bytes),
       optional("allocated_memory", bytes), optional("last_stage_memory", bytes), optional("out_of_memory", boolean("whether the run ended so")),
       required("source", text("where it was published"))},
      "one measurement");
  const Schema named = mapping("name", any("section of a scenario"), "sections by name");
  return object(
      {required("source", text("name of the mapping")), required("clusters", named), required("workloads", named),
       required("measurements", list(line, between(0, 1e6), "in the order of their tables"))},
      "measurements");
}

void read_memory(const View& line, Measurement& m) {
  for (const MemoryKey& it : kMemoryKeys) {
    if (!line[it.key]) continue;
    m.peak_memory_bytes = line[it.key].quantity<Bytes>().value;
    m.memory_kind = it.kind;
  }
}

std::string section(const View& named, const View& name, Diagnostics& diagnostics) {
  if (named[name.text()]) return flow(named[name.text()].value());
  diagnostics.add(name.place(), unknown_name("section", name.text(), named.keys()));
  return "";
}

Measurement measurement_of(const View& root, const View& line, Diagnostics& diagnostics) {
  Measurement m;
  m.id = line["id"].text();
  m.source = root["source"].text();
  m.file = line["table"].text();
  m.citation = line["source"].text();
  m.gpu = line["gpu"].text();
  m.model = line["model"].text();
  m.gpus = static_cast<int>(line["gpus"].integer());
  m.group = line["group"].text();
  m.cluster = section(root["clusters"], line["cluster"], diagnostics);
  m.workload = section(root["workloads"], line["workload"], diagnostics);
  m.plan = flow(line["plan"].value());
  if (line["step_time"]) m.step_time_s = line["step_time"].quantity<Seconds>().value;
  read_memory(line, m);
  if (line["out_of_memory"]) m.out_of_memory = line["out_of_memory"].boolean();
  return m;
}

}  // namespace

std::string to_measurement_yaml(const std::vector<Measurement>& measurements) {
  Names clusters('c'), workloads('w');
  std::string lines;
  for (const Measurement& m : measurements) lines += line_of(m, clusters, workloads);
  return fmt::format("{}source: {}\nclusters:\n{}workloads:\n{}measurements:\n{}", kHead,
                     measurements.empty() ? "none" : measurements.front().source, clusters.lines(), workloads.lines(),
                     lines);
}

std::vector<Measurement> read_measurement_yaml(const std::string& path) {
  Diagnostics diagnostics;
  const ConfigValue document = read_yaml_file(path, diagnostics);
  diagnostics.throw_if_any();
  check(document, form(), diagnostics);
  diagnostics.throw_if_any();
  const View root(document);
  std::vector<Measurement> all;
  for (std::size_t i = 0; i < root["measurements"].size(); ++i)
    all.push_back(measurement_of(root, root["measurements"].at(i), diagnostics));
  diagnostics.throw_if_any();
  return all;
}

}  // namespace trainyard
