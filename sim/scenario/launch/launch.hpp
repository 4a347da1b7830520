// Launch arguments of training frameworks to scenarios, and Plans to launch arguments.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// What a launch does not say itself.
struct LaunchImportOptions {
  std::string gpu, instance, cluster;  ///< at most one: catalogue names, or a scenario whose cluster is taken
  std::string nic;                     ///< bandwidth of the network card that each GPU has: "200 Gbps"
  int nodes = 0, gpus_per_node = 0;    ///< 0: what the launcher says
  int vocabulary = 0;                  ///< 0: what the arguments say; else where the tokenizer's file would say it
  std::string ranks;                   ///< a file of export_launch: which device each rank has
};

struct ImportedLaunch {
  std::string scenario;            ///< YAML: cluster, workload, and the Plan in its short form under `fixed`
  std::vector<std::string> notes;  ///< lines: arguments left out, by name; what was assumed
};

/// `megatron-args`, `torchtitan-args`, `deepspeed-args`.
[[nodiscard]] std::vector<std::string> launch_import_kinds();
/// Throws UserError with every mistake in the file; sizes that do not divide are such.
[[nodiscard]] ImportedLaunch import_launch(const std::string& kind, const std::string& file,
                                           const LaunchImportOptions& options);

struct LaunchExportOptions {
  std::string framework;  ///< megatron, torchtitan, deepspeed
  std::string scenario;   ///< for a PLAN that is no scenario: the file with its cluster and workload
  std::string strategy;   ///< which of a scenario's `fixed` or of the results; "": the only one
};

struct ExportedLaunch {
  std::string text;                ///< a shell script that import_launch reads
  std::string ranks;               ///< a line a rank: rank, device, and its place on each axis
  std::vector<std::string> notes;  ///< settings of the software that the framework has no argument for
};

[[nodiscard]] std::vector<std::string> launch_frameworks();
/// `file`: a scenario with a fixed Plan, a Plan, or the JSON result of `run`. Throws UserError, one line, for what the
/// framework cannot express.
[[nodiscard]] ExportedLaunch export_launch(const std::string& file, const LaunchExportOptions& options);

}  // namespace trainyard
