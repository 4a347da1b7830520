#include "sim/cli/collective_verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "sim/cli/commands.hpp"
#include "sim/config/schema.hpp"
#include "sim/model/plan_words.hpp"
#include "sim/units/error.hpp"
#include "sim/units/text.hpp"
#include "topologies/topologies.hpp"

namespace trainyard {
namespace {

constexpr double kElement = 4;  // bytes of a float, the type that nccl-tests takes by default
constexpr double kMostBytes = 1e15;

struct Operation { const char* name; CollectiveKind kind; };
constexpr std::array kOperations{
    Operation{"all_reduce", CollectiveKind::all_reduce}, Operation{"reduce_scatter", CollectiveKind::reduce_scatter},
    Operation{"all_gather", CollectiveKind::all_gather}, Operation{"all_to_all", CollectiveKind::all_to_all},
    Operation{"broadcast", CollectiveKind::broadcast},   Operation{"send_recv", CollectiveKind::send}};
constexpr std::array kAlgorithms{Algorithm::automatic, Algorithm::ring, Algorithm::tree, Algorithm::hierarchical, Algorithm::in_network};

struct Line {
  Bytes size;
  Seconds time;
  BytesPerSecond algorithm_bandwidth, bus_bandwidth;
  Algorithm algorithm;
};

std::string_view word_of(Algorithm algorithm) {
  for (const auto& word : words<Algorithm>())
    if (word.value == algorithm) return word.text;
  return "";
}

CollectiveKind kind_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Operation& operation : kOperations) {
    if (operation.name == name) return operation.kind;
    names.emplace_back(operation.name);
  }
  throw UserError("--op: " + unknown_name("operation", name, names));
}

Algorithm algorithm_of(const std::string& name, CollectiveKind kind) {
  std::vector<std::string> names;
  for (const Algorithm algorithm : kAlgorithms) names.emplace_back(word_of(algorithm));
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw UserError("--algorithm: " + unknown_name("algorithm", name, names));
  const Algorithm algorithm = kAlgorithms[static_cast<std::size_t>(found - names.begin())];
  if (kind != CollectiveKind::all_reduce && algorithm != Algorithm::automatic)
    throw UserError("--algorithm: only all_reduce has a choice");
  return algorithm;
}

Bytes size_of(const std::string& text) {
  const Parsed<Bytes> parsed = parse_quantity<Bytes>(text);
  if (!parsed.value) throw UserError(fmt::format("--bytes: \"{}\" {}", text, parsed.error));
  if (parsed.value->value < 1 || parsed.value->value > kMostBytes)
    throw UserError(fmt::format("--bytes: \"{}\" is not between 1 B and 1 PB", text));
  return *parsed.value;
}

std::vector<Bytes> sizes_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {size_of(text)};
  const Bytes first = size_of(text.substr(0, dots)), last = size_of(text.substr(dots + 2));
  if (last < first) throw UserError(fmt::format("--bytes: \"{}\" ends below its start", text));
  std::vector<Bytes> sizes;
  for (Bytes size = first; size <= last; size = size * 2.0) sizes.push_back(size);
  return sizes;
}

Cluster cluster_of(const std::string& file) {
  Diagnostics diagnostics;
  const ConfigValue root = read_yaml_file(file, diagnostics);
  diagnostics.throw_if_any();
  const ConfigValue* section = root.kind == ConfigValue::Kind::map ? root.find("cluster") : nullptr;
  if (section == nullptr) throw UserError(file + ": no `cluster`");
  Cluster cluster;
  const std::string directory = std::filesystem::path(file).parent_path().string();
  if (check(*section, cluster_schema(), diagnostics))
    cluster = build_cluster(*section, directory.empty() ? "." : directory, diagnostics);
  diagnostics.throw_if_any();
  return cluster;
}

std::vector<DeviceId> first_gpus(const Cluster& cluster, int count) {
  std::vector<DeviceId> gpus = cluster.gpus();
  if (gpus.size() < 2) throw UserError(fmt::format("a collective needs two GPUs: the cluster has {}", gpus.size()));
  if (static_cast<std::size_t>(count) > gpus.size())
    throw UserError(fmt::format("--gpus: {} asked for, the cluster has {}", count, gpus.size()));
  if (count > 0) gpus.resize(static_cast<std::size_t>(count));
  return gpus;
}

/// Bytes on the busiest link of a ring over bytes of the buffer (nccl-tests, PERFORMANCE.md).
double bus_factor(CollectiveKind kind, std::size_t members) {
  const double others = double(members - 1) / double(members);
  if (kind == CollectiveKind::all_reduce) return 2 * others;
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::send ? 1 : others;
}

Seconds simulated(const SimulationResult& result) {
  if (const auto* failure = std::get_if<WorkerFailure>(&result)) throw InternalError("the simulation failed: " + failure->why);
  return std::get<Timeline>(result).makespan;
}

std::vector<Line> lines_of(const Cluster& cluster, const std::vector<DeviceId>& members, const CollectiveGroup& group,
                           const std::vector<Bytes>& sizes, const WorkerNursery& nursery, int jobs) {
  std::vector<SimulationRequest> requests;
  std::vector<Line> lines;
  for (const Bytes size : sizes) {
    const CollectiveCost cost = collective_cost(group.shape, cluster.transports[index(group.transport)], size);
    requests.push_back({collective_graph(cluster, {{group, cost}}), {}, false});
    lines.push_back({size, {}, {}, {}, cost.algorithm});
  }
  const std::vector<SimulationResult> results = nursery.run(requests, jobs);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].time = simulated(results[i]);
    lines[i].algorithm_bandwidth = lines[i].size / lines[i].time;
    lines[i].bus_bandwidth = lines[i].algorithm_bandwidth * bus_factor(group.shape.kind, members.size());
  }
  return lines;
}

/// An all-reduce's; the other operations have one way each.
std::string_view how(const Line& line, CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return word_of(line.algorithm);
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::send ? "direct" : "ring";
}

double count_of(const Line& line) { return std::floor(line.size.value / kElement); }

std::string table(const Arguments& arguments, const std::vector<Line>& lines, std::size_t gpus, CollectiveKind kind) {
  std::string text = fmt::format("# {} on {} GPUs\n#{:>13} {:>13} {:>7} {:>12} {:>9} {:>9}  {}\n#{:>13} {:>13} {:>7} {:>12} {:>9} {:>9}\n",
                                 arguments.operation, gpus, "size", "count", "type", "time", "algbw", "busbw", "algorithm", "(B)",
                                 "(elements)", "", "(us)", "(GB/s)", "(GB/s)");
  for (const Line& line : lines)
    text += fmt::format(" {:>13.0f} {:>13.0f} {:>7} {:>12.2f} {:>9.2f} {:>9.2f}  {}\n", line.size.value, count_of(line), "float",
                        line.time.value * 1e6, line.algorithm_bandwidth.value / 1e9, line.bus_bandwidth.value / 1e9, how(line, kind));
  return text;
}

std::string csv(const Arguments& arguments, const std::vector<Line>& lines, std::size_t gpus, CollectiveKind kind) {
  std::string text = "op,gpus,size,count,type,time_us,algbw_GBps,busbw_GBps,algorithm\n";
  for (const Line& line : lines)
    text += fmt::format("{},{},{:.0f},{:.0f},float,{:.6g},{:.6g},{:.6g},{}\n", arguments.operation, gpus, line.size.value, count_of(line),
                        line.time.value * 1e6, line.algorithm_bandwidth.value / 1e9, line.bus_bandwidth.value / 1e9, how(line, kind));
  return text;
}

std::string json(const Arguments& arguments, const std::vector<Line>& lines, std::size_t gpus, CollectiveKind kind) {
  std::string rows;
  for (const Line& line : lines)
    rows += fmt::format("{}\n    {{\"size\": {:.0f}, \"count\": {:.0f}, \"type\": \"float\", \"time\": {}, \"algorithm_bandwidth\": {}, "
                        "\"bus_bandwidth\": {}, \"algorithm\": \"{}\"}}",
                        rows.empty() ? "" : ",", line.size.value, count_of(line), line.time.value, line.algorithm_bandwidth.value,
                        line.bus_bandwidth.value, how(line, kind));
  return fmt::format("{{\n  \"operation\": \"{}\",\n  \"gpus\": {},\n  \"results\": [{}\n  ]\n}}\n", arguments.operation, gpus, rows);
}

}  // namespace

std::string collective_text(const Arguments& arguments, const WorkerNursery& nursery) {
  const CollectiveKind kind = kind_of(arguments.operation);
  const Algorithm algorithm = algorithm_of(arguments.algorithm, kind);
  const std::vector<Bytes> sizes = sizes_of(arguments.bytes);
  const Cluster cluster = cluster_of(arguments.scenarios.front());
  const std::vector<DeviceId> members = first_gpus(cluster, arguments.gpus);
  const Router router(cluster);
  CollectiveGroup group = collective_group(cluster, router, members, kind);
  group.shape.algorithm = algorithm;
  const std::vector<Line> lines = lines_of(cluster, members, group, sizes, nursery, arguments.jobs);
  if (arguments.format == Format::json) return json(arguments, lines, members.size(), kind);
  return arguments.format == Format::csv ? csv(arguments, lines, members.size(), kind) : table(arguments, lines, members.size(), kind);
}

}  // namespace trainyard
