// Public records of spot nodes, exactly as they are on disk; private to topologies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/model/market.hpp"
#include "topologies/market/record_text.hpp"

namespace trainyard {

/// How a file is written. One format of the scenario may have several.
enum class Dialect {
  instance_events,  ///< `time_ms,add|remove,node`: Bamboo, SpotServe
  event_lines,      ///< `[time_ms, "add", {"nodes": [..]}]`: Parcae, SpotServe
  poll_log,         ///< `2021-12-10, 13:07:45, 80`: Bamboo on GCP
  count_table,      ///< header `time,count` or `timestamp,count`: Bamboo's autoscaling groups
  pairs,            ///< `time,count`; at a time that stands twice the last holds: Bamboo's step plots, Parcae's p3.csv
  skypilot,         ///< {"metadata": {"gap_seconds": ..}, "data": [..]}
  sailor_list,      ///< [{"Time": s, "GPUs": n}, ..]
  sailor_table,     ///< `,Timestamp,GPU-memory_zone,..`
  tenplex           ///< [{"time": minutes that it holds, "size": GPUs}, .., {"time": 0, "size": 0}]
};
[[nodiscard]] std::string_view description(Dialect dialect);

struct RecordOptions {
  std::string format;    ///< "": any that the file looks like
  std::string column;    ///< of a table with one a pool
  std::string unit;      ///< of the times of pairs: s, ms, h
  bool sort = false;     ///< put into order of time; of two counts at one time the last one read holds
  bool inverted = false; ///< SkyPilot: 1 means taken
};

/// What a file says. Its after_end and victims are the defaults.
struct Record {
  Availability availability;
  Dialect dialect{};
  bool counts_gpus = false;  ///< the numbers are GPUs, not nodes
};

/// Every name that `format` may have.
[[nodiscard]] std::vector<std::string> availability_formats();
/// Reads a record. The first mistake goes to `diagnostics` with its place in the file; one that concerns the file as such, at `asked`.
[[nodiscard]] std::optional<Record> read_record(const std::string& path, const RecordOptions& options, const SourcePlace& asked,
                                                Diagnostics& diagnostics);

/// One number of nodes at one time, as read.
struct LevelSample {
  double at = 0;
  double nodes = 0;
  SourcePlace place;
};
/// What samples mean beyond their numbers.
struct LevelRules {
  bool sort = false, last_of_equal_holds = false;
  std::optional<double> length;  ///< absent: the last one holds as long as the one before it
};
/// Checks order and counts, starts the record at 0, drops repetitions.
[[nodiscard]] std::optional<LevelTrace> level_trace(std::vector<LevelSample> samples, const LevelRules& rules, Diagnostics& diagnostics);

/// One instance that comes or goes, as read.
struct InstanceSample {
  double at = 0;
  bool up = true;
  std::string name;
  SourcePlace place;
};
/// Checks order, and that who comes was away and who goes was there. Times stay as they are.
[[nodiscard]] std::optional<InstanceTrace> instance_trace(std::vector<InstanceSample> samples, bool sort, double length,
                                                          Diagnostics& diagnostics);

/// The file's text, opened.
struct OpenRecord {
  std::string path, text;
  RecordText lines;
  const RecordOptions& options;
  Diagnostics& diagnostics;
};
using ReadRecord = std::optional<Record>;
[[nodiscard]] ReadRecord read_instance_events(const OpenRecord& file);
[[nodiscard]] ReadRecord read_event_lines(const OpenRecord& file);
[[nodiscard]] ReadRecord read_poll_log(const OpenRecord& file);
[[nodiscard]] ReadRecord read_count_table(const OpenRecord& file);
[[nodiscard]] ReadRecord read_pairs(const OpenRecord& file);
[[nodiscard]] ReadRecord read_sailor_table(const OpenRecord& file);
[[nodiscard]] ReadRecord read_skypilot(const OpenRecord& file);
[[nodiscard]] ReadRecord read_sailor_list(const OpenRecord& file);
[[nodiscard]] ReadRecord read_tenplex(const OpenRecord& file);

/// The document of a JSON file, checked; nothing if it is wrong.
[[nodiscard]] std::optional<ConfigValue> checked_json(const std::string& text, const std::string& name, const Schema& schema,
                                                      Diagnostics& diagnostics);

/// The same record with `nodes` in place of GPUs: whole nodes only.
[[nodiscard]] Record in_nodes(Record record, int gpus_per_node);

}  // namespace trainyard
