// Results kept with their scenario, to find out whether a change moved them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/workers.hpp"

namespace trainyard {

/// One case: its status and figures by the keys of results (seconds, bytes, tokens/s ..).
struct BaselineCase {
  std::string variant, strategy, status;
  std::map<std::string, double> figures;
};

struct Baseline {
  std::string name, version;
  std::string scenario;                      ///< text of the scenario file
  std::map<std::string, std::string> files;  ///< text of what it names (config.json), by name
  std::vector<BaselineCase> cases;           ///< variant by variant, strategies in file order
};

/// Simulates a scenario file. Throws UserError for a file that is none.
[[nodiscard]] Baseline make_baseline(const std::string& scenario_file, const std::string& version, int jobs,
                                     const WorkerNursery& nursery);

[[nodiscard]] std::string to_baseline_json(const Baseline& baseline);
/// Throws UserError for a text that is no baseline.
[[nodiscard]] Baseline from_baseline_json(const std::string& text, const std::string& file);

struct BaselineOutcome {
  std::string name;
  std::size_t cases = 0, figures = 0;
  std::vector<std::string> drift;  ///< one line a figure; empty: all within the tolerance
};

/// Simulates a baseline again. A figure drifts when it differs by more than `tolerance` of what is stored; one that is
/// new, gone, or a case whose status differs, drifts too.
[[nodiscard]] BaselineOutcome check_baseline(const std::string& file, double tolerance, int jobs,
                                             const WorkerNursery& nursery);

/// What differs between two lists of cases.
[[nodiscard]] std::vector<std::string> drift_between(const std::vector<BaselineCase>& stored,
                                                     const std::vector<BaselineCase>& now, double tolerance);

}  // namespace trainyard
