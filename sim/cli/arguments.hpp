// The command line: words in, a value out.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sim/scenario/launch/launch.hpp"
#include "sim/scenario/starter.hpp"
#include "topologies/spot_import.hpp"

namespace trainyard {

enum class Verb { run, compare, explain, list, schema, init, validate, check, collective, import, export_plan, sweep, merge, completion, calibrate };
enum class Format { table, json, csv };
enum class Colour { automatic, always, never };

struct Arguments {
  Verb verb = Verb::run;
  std::vector<std::string> scenarios;   ///< files
  std::vector<std::string> plugins;     ///< shared libraries with strategies
  std::vector<std::string> strategies;  ///< empty: those of the scenario; "all": every one there is
  std::string objective;                ///< "": the scenario's
  Format format = Format::table;
  Colour colour = Colour::automatic;
  std::string out, trace, report;  ///< files; "": standard output, no trace, no page
  std::string against;             ///< `run`: a recorded timeline that replays are compared with; "": none
  int jobs = 1, seeds = 1;
  bool timings = false, quiet = false, symmetry = true, full_detail = false;
  bool why = false, sensitivity = false;  ///< `compare`
  std::string list_what, list_name;  ///< `list`
  std::string operation = "all_reduce", bytes, algorithm = "automatic";  ///< `collective`
  int gpus = 0;                                                          ///< `collective`
  std::string data, budget, gpu, source, convert, into;  ///< `validate`; `into` of `check --update` too
  int worst = 0;
  bool ablation = false;               ///< `validate`: with parts of the model switched off
  std::string write_bands;             ///< `validate`: FILE for the error bands
  bool claims = false;                 ///< `validate`: papers' claims instead of measurements
  std::vector<std::string> baselines;  ///< `check`: baselines, with `update` scenarios
  bool update = false;
  std::vector<std::string> tolerances;   ///< SHARE or FIGURE=SHARE
  bool figures_only = false;             ///< `check`: other versions and catalogues are no drift
  std::string junit;
  std::string import_kind, import_file;  ///< `import`
  LaunchImportOptions import_options;    ///< `import` of launch arguments
  SpotImport spot_options;               ///< `import spot`
  std::string export_file, ranks;        ///< `export`
  LaunchExportOptions export_options;    ///< `export`
  std::vector<std::string> set;          ///< `sweep`: KEY=VALUES
  std::string store;                     ///< `sweep`, `merge`: SQLite file; "": named after the scenario, none
  int shard = 1, shards = 1;             ///< `sweep`: this part of that many
  std::vector<std::string> stores;       ///< `merge`
  std::vector<std::string> collectives;  ///< `calibrate`: logs of nccl-tests
  std::string kernels, steps;            ///< `calibrate`: tables
  bool topology = false;                 ///< `explain`
  std::string dot;                       ///< `explain`: FILE for Graphviz
  std::string shell;                     ///< `completion`
  StarterOptions starter;                ///< `init`
};

/// The program ends here: help and version go to standard output with status 0, a wrong word to standard error with 2.
struct Stop {
  int status = 0;
  std::string text;
};

/// `words` without the program's name. `version` is what `--version` prints.
[[nodiscard]] std::variant<Arguments, Stop> parse_arguments(const std::vector<std::string>& words,
                                                            const std::string& version);

}  // namespace trainyard
