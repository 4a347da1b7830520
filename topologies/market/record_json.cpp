// Records that are one JSON document: SkyPilot, Sailor, Tenplex.
#include <fmt/format.h>

#include "sim/config/view.hpp"
#include "topologies/market/records.hpp"

namespace trainyard {
namespace {

constexpr double kMostRecords = 1e7;
constexpr double kMostGpus = 1e6;

Schema skypilot_schema() {
  using namespace schema;
  const Schema metadata = object({required("gap_seconds", number(above(0, 1e7), "between two entries"))}, "metadata");
  return object({required("metadata", metadata),
                 required("data", list(integer(between(0, kMostGpus), "nodes"), between(1, kMostRecords), "nodes at each tick")),
                 optional("prices", list(number(between(0, 1e6), "USD/h"), between(1, kMostRecords), "price at each tick"))},
                "a trace of SkyPilot");
}

Schema sailor_schema() {
  using namespace schema;
  const Schema entry = object({required("Time", number(between(0, 1e11), "seconds")), required("GPUs", number(between(0, kMostGpus), "GPUs"))},
                              "an entry");
  return list(entry, between(1, kMostRecords), "a trace of Sailor");
}

Schema tenplex_schema() {
  using namespace schema;
  const Schema entry = object({optional("time", number(between(0, 1e9), "minutes that it holds")), optional("step", any("a step")),
                               required("size", integer(between(0, kMostGpus), "GPUs"))},
                              "an entry");
  return list(entry, between(1, kMostRecords), "a schedule of Tenplex");
}

ReadRecord gpu_levels(const OpenRecord& file, std::vector<LevelSample> samples, std::optional<double> length, Dialect dialect) {
  auto trace = level_trace(std::move(samples), {file.options.sort, false, length}, file.diagnostics);
  return trace ? ReadRecord(Record{std::move(*trace), dialect, true}) : std::nullopt;
}

bool inverted(const OpenRecord& file, std::vector<LevelSample>& samples) {
  for (LevelSample& sample : samples) {
    if (sample.nodes > 1) return file.diagnostics.add(sample.place, fmt::format("`inverted` is for 0 and 1, not {:g}", sample.nodes)), false;
    sample.nodes = 1 - sample.nodes;
  }
  return true;
}

}  // namespace

std::optional<ConfigValue> checked_json(const std::string& text, const std::string& name, const Schema& schema, Diagnostics& diagnostics) {
  Diagnostics found;
  ConfigValue document = read_yaml_text(text, name, found);
  if (found.empty()) check(document, schema, found);
  if (found.empty()) return document;
  diagnostics.add(found.all().front().place, found.all().front().message);
  return std::nullopt;
}

ReadRecord read_skypilot(const OpenRecord& file) {
  const auto document = checked_json(file.text, file.path, skypilot_schema(), file.diagnostics);
  if (!document) return std::nullopt;
  const View root(*document), data = root["data"], prices = root["prices"];
  if (prices && prices.size() != data.size()) {
    file.diagnostics.add(prices.place(), fmt::format("{} prices for {} entries of data", prices.size(), data.size()));
    return std::nullopt;
  }
  const double gap = root["metadata"]["gap_seconds"].number();
  std::vector<LevelSample> samples;
  for (std::size_t i = 0; i < data.size(); ++i)
    samples.push_back({double(i) * gap, double(data.at(i).integer()), data.at(i).place()});
  if (file.options.inverted && !inverted(file, samples)) return std::nullopt;
  const double length = gap * double(data.size());
  auto trace = level_trace(std::move(samples), {false, false, length}, file.diagnostics);
  return trace ? ReadRecord(Record{std::move(*trace), Dialect::skypilot}) : std::nullopt;
}

ReadRecord read_sailor_list(const OpenRecord& file) {
  const auto document = checked_json(file.text, file.path, sailor_schema(), file.diagnostics);
  if (!document) return std::nullopt;
  const View root(*document);
  std::vector<LevelSample> samples;
  for (std::size_t i = 0; i < root.size(); ++i)
    samples.push_back({root.at(i)["Time"].number(), root.at(i)["GPUs"].number(), root.at(i).place()});
  return gpu_levels(file, std::move(samples), std::nullopt, Dialect::sailor_list);
}

ReadRecord read_tenplex(const OpenRecord& file) {
  const auto document = checked_json(file.text, file.path, tenplex_schema(), file.diagnostics);
  if (!document) return std::nullopt;
  const View root(*document);
  std::vector<LevelSample> samples;
  double at = 0;
  for (std::size_t i = 0; i < root.size(); ++i) {
    const View entry = root.at(i);
    if (!entry["time"]) {
      file.diagnostics.add(entry.place(), "resizes by training steps, not by time: when they come depends on the job");
      return std::nullopt;
    }
    const double minutes = entry["time"].number();
    const bool terminator = i + 1 == root.size() && i > 0 && minutes == 0 && entry["size"].integer() == 0;
    if (!terminator) samples.push_back({at, double(entry["size"].integer()), entry.place()});
    at += 60 * minutes;
  }
  return gpu_levels(file, std::move(samples), at, Dialect::tenplex);
}

}  // namespace trainyard
