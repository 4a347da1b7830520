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

/// Which program and which catalogues made figures.
struct Maker {
  std::string version, catalogue_hash;
  friend bool operator==(const Maker&, const Maker&) = default;
};

struct Baseline {
  std::string name;
  Maker maker;
  std::string scenario;                      ///< text of the scenario file
  std::map<std::string, std::string> files;  ///< text of what it names (config.json), by name
  std::vector<BaselineCase> cases;           ///< variant by variant, strategies in file order
};

/// How far a figure may move, a share of what is kept.
struct Tolerance {
  double all = 0.005;
  std::map<std::string, double> of;          ///< by key, where a figure has its own
  [[nodiscard]] double for_figure(const std::string& key) const {
    const auto found = of.find(key);
    return found == of.end() ? all : found->second;
  }
};

/// Simulates a scenario file. Throws UserError for a file that is none.
[[nodiscard]] Baseline make_baseline(const std::string& scenario_file, const Maker& maker, int jobs,
                                     const WorkerNursery& nursery);

[[nodiscard]] std::string to_baseline_json(const Baseline& baseline);
/// Throws UserError for a text that is no baseline.
[[nodiscard]] Baseline from_baseline_json(const std::string& text, const std::string& file);

struct BaselineOutcome {
  std::string name;
  std::size_t cases = 0, figures = 0;
  std::vector<std::string> drift;  ///< one line a figure; empty: all within the tolerance
};

struct CheckOptions {
  Maker now;
  Tolerance tolerance;
  bool figures_only = false;             ///< another maker is no drift
  int jobs = 1;
};

/// Simulates a baseline again. A figure drifts when it differs by more than its tolerance of what is stored; one that is
/// new, gone, or a case whose status differs, drifts too, and so does a baseline that another version or other catalogues made.
[[nodiscard]] BaselineOutcome check_baseline(const std::string& file, const CheckOptions& options, const WorkerNursery& nursery);

/// "" or what differs between who made a baseline and who looks at it.
[[nodiscard]] std::string other_maker(const Maker& kept, const Maker& now);

/// Keys of the figures that a baseline keeps of a step or a job.
[[nodiscard]] std::vector<std::string> baseline_figures();

/// What differs between two lists of cases.
[[nodiscard]] std::vector<std::string> drift_between(const std::vector<BaselineCase>& stored,
                                                     const std::vector<BaselineCase>& now, const Tolerance& tolerance);

}  // namespace trainyard
