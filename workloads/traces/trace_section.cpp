#include "workloads/traces/trace_section.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/units/error.hpp"
#include "workloads/traces/readers.hpp"
#include "workloads/traces/trace_files.hpp"
#include "workloads/traces/trace_ranks.hpp"

namespace trainyard {
namespace {


TraceFile read_file(const std::string& path, const std::string& format, const TraceReading& reading,
                    TraceTables& tables) {
  if (format == "pytorch") return read_pytorch(path, reading, tables);
  if (format == "kineto") return read_kineto(path, reading, tables);
  if (format == "astra") return read_astra_text(path, reading, tables);
  if (format == "aicb") return read_aicb(path, reading, tables);
  return path.find(".json") != std::string::npos ? read_chakra_json(path, reading, tables)
                                                 : read_chakra(path, reading, tables);
}

void count(const char* what, std::int64_t TraceRepairs::*of, const std::vector<TraceFile>& files,
           ExecutionTrace& trace) {
  std::int64_t all = 0;
  for (const TraceFile& file : files) all += file.repairs.*of;
  if (all > 0) trace.remarks.push_back(fmt::format("{} {}", all, what));
}

void add_remarks(const std::vector<TraceFile>& files, ExecutionTrace& trace) {
  count("dependencies of a node on itself were dropped", &TraceRepairs::self_dependencies, files, trace);
  count("dependencies on nodes that are not in the file were dropped", &TraceRepairs::missing_parents, files, trace);
  count("control dependencies inside cycles were dropped", &TraceRepairs::control_cycles, files, trace);
  count("files do not say of which version of Chakra's schema they are, and are read as 0.0.4",
        &TraceRepairs::without_version, files, trace);
  count("exchanges say no size: those of the host are its work, the others keep their recorded time",
        &TraceRepairs::unsized_exchanges, files, trace);
}

/// JSON: {"1": [0, 1], ..}: the ranks of each communicator.
std::map<std::string, std::vector<int>> read_groups(const std::string& path) {
  const nlohmann::json root = nlohmann::json::parse(trace_text(path), nullptr, false);
  if (!root.is_object()) throw UserError(path + ": no JSON object of ranks by communicator, such as {\"1\": [0, 1]}");
  std::map<std::string, std::vector<int>> groups;
  for (const auto& [name, ranks] : root.items()) {
    if (!ranks.is_array()) throw UserError(fmt::format("{}: communicator {} is no list of ranks", path, name));
    for (const nlohmann::json& rank : ranks) {
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= std::uint64_t(kMostRanks))
        throw UserError(fmt::format("{}: communicator {} holds {}; ranks from 0 are allowed", path, name, rank.dump()));
      groups[name].push_back(rank.get<int>());
    }
  }
  return groups;
}

TraceRanks ranks_of(const View& workload, const std::string& directory) {
  TraceRanks ranks;
  ranks.wanted = int(workload["ranks"].integer_or(0));
  if (workload["groups"])
    ranks.groups = read_groups((std::filesystem::path(directory) / workload["groups"].text()).string());
  if (workload["all_gather_size"]) ranks.gathered_sizes = workload["all_gather_size"].text() == "output";
  return ranks;
}

ExecutionTrace read_all(const std::string& path, std::string format, const TraceReading& reading, TraceRanks ranks) {
  ExecutionTrace trace;
  TraceTables tables(trace);
  std::vector<TraceFile> files;
  for (const std::string& file : trace_files(path, format)) files.push_back(read_file(file, format, reading, tables));
  for (TraceFile& file : files)
    if (file.rank.rank < 0) file.rank.rank = rank_in_name(file.rank.file);
  add_remarks(files, trace);
  ranks.sizes_are_known = format == "pytorch" || format == "kineto";
  if (format == "aicb" && !ranks.gathered_sizes) ranks.gathered_sizes = true;
  settle_ranks(std::move(files), ranks, trace);
  return trace;
}

ReplayTimes times_of(const View& value) {
  const std::string text = value.text_or("recorded");
  return text == "scaled" ? ReplayTimes::scaled : text == "model" ? ReplayTimes::model : ReplayTimes::recorded;
}

/// Keys that say what is trained, which the trace knows.
void refuse_model_keys(const View& workload, Diagnostics& diagnostics) {
  for (const char* key : {"model", "profile", "sequence_length", "global_batch", "optimizer", "software", "method",
                          "convergence", "routing"})
    if (workload[key]) diagnostics.add(workload[key].place(), "a trace says itself what is run: take this key away");
}

}  // namespace

std::vector<SchemaField> trace_fields() {
  using namespace schema;
  return {
      optional("trace", text("execution traces to replay instead of a model: a file, or a folder with one a rank")),
      optional("format", choice({"chakra", "pytorch", "kineto", "astra", "aicb"}, "trace: who wrote the files"),
               "told by the files"),
      optional("ranks",
               integer(between(1, kMostRanks), "trace: ranks of the run; those without a file run that of another"),
               "as the trace says, else one a file"),
      optional(
          "compute",
          choice(
              {"recorded", "scaled", "model"},
              "trace: times of computing: as recorded, scaled from one type of GPU to another, or by the cost model"),
          "recorded"),
      optional("recorded_on", text("trace, compute: scaled: the GPU that was measured"), "as the trace says"),
      optional("groups", text("trace: JSON file with the ranks of each communicator")),
      optional("all_gather_size",
               choice({"input", "output"},
                      "trace: whether an all-gather's size is what a rank gives, or what all have in the end"),
               "input"),
      optional("time_unit", quantity(Dimension::seconds, above(0, 1), "trace, format: astra: one unit of its times"),
               "1 ns"),
      optional(
          "lenient",
          boolean(
              "trace: drop dependencies on missing nodes, on the node itself, and control dependencies inside a cycle"),
          "false")};
}

std::shared_ptr<TraceReplay> read_trace_section(const View& workload, const std::string& directory,
                                                Diagnostics& diagnostics) {
  refuse_model_keys(workload, diagnostics);
  auto replay = std::make_shared<TraceReplay>();
  replay->source = workload["trace"].text();
  replay->times = times_of(workload["compute"]);
  replay->recorded_on = workload["recorded_on"].text_or("");
  if (workload["precision"]) replay->precision = data_type_from(workload["precision"].text()).value();
  TraceReading reading;
  reading.lenient = workload["lenient"].boolean_or(false);
  reading.ranks = int(workload["ranks"].integer_or(0));
  reading.text_seconds = workload["time_unit"].quantity_or(Seconds(reading.text_seconds)).value;
  const std::string path = (std::filesystem::path(directory) / replay->source).lexically_normal().string();
  try {
    replay->trace = read_all(path, workload["format"].text_or(""), reading, ranks_of(workload, directory));
  } catch (const UserError& error) {
    diagnostics.add(workload["trace"].place(), error.what());
  }
  return replay;
}

ExecutionTrace read_trace(const std::string& path, const std::string& format) {
  return read_all(path, format.empty() ? timed_format(path) : format, {}, {});
}

}  // namespace trainyard
