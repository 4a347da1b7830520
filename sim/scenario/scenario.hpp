// The root of the YAML file: one scenario with its variants and strategies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/config_value.hpp"
#include "sim/config/schema.hpp"
#include "sim/model/cluster_share.hpp"
#include "sim/model/jitter.hpp"
#include "sim/model/long_run.hpp"
#include "sim/model/market.hpp"
#include "sim/model/workload.hpp"
#include "sim/planning/recovery_registry.hpp"

namespace trainyard {

struct TraceReplay;

/// One entry of `strategies:`; `options` is a null value when none were given. `recovery` stands among the options, but is the job's.
struct StrategyChoice {
  std::string name;
  ConfigValue options;
  SourcePlace place;
  RecoveryChoice recovery{};
  std::optional<MarketKind> market{};    ///< how its nodes are had, if not as the scenario says
};

enum class Objective { throughput, cost, goodput, cost_under_deadline };
[[nodiscard]] std::string_view name(Objective objective);

/// One entry of `jobs:`: what trains on the same fabric at the same time.
struct OtherJob {
  std::string name;
  ClusterShare share;  ///< its own nodes
  Workload workload;
  StrategyChoice strategy;
};

/// One alternative, complete: the keys of the variant have been put in place.
struct Variant {
  std::string name;  ///< "" when the scenario has none
  Cluster cluster;  ///< with other jobs: as in `share`
  Workload workload;
  Market market;
  ConfigValue workload_section;  ///< as written, with the variant's changes
  std::shared_ptr<const TraceReplay> replay{};  ///< instead of a workload
  std::vector<OtherJob> jobs{};
  std::shared_ptr<const Cluster> whole{};  ///< with other jobs: every node
  std::shared_ptr<const ClusterShare> share{};  ///< with other jobs: this workload's own nodes
  /// Everything that exists.
  [[nodiscard]] const Cluster& all_nodes() const { return whole ? *whole : cluster; }
};

struct Scenario {
  std::string name;  ///< file name without folder and ending
  std::string file, directory;
  std::vector<Variant> variants;           ///< at least one
  std::vector<StrategyChoice> strategies;  ///< in file order, at least one; of a trace one by the name of `replay`
  Objective objective = Objective::throughput;
  int steps = 1;
  std::uint64_t seed = 1;
  bool has_market = false;  ///< a section `market` with something in it
  Jitter jitter;  ///< with the scenario's seed
  std::optional<LongRun> long_run;  ///< absent: steps are simulated; prices on demand stay empty
  std::optional<Seconds> deadline;  ///< for cost_under_deadline
};

/// Of the whole file, and of its `jobs:`.
[[nodiscard]] Schema scenario_schema();
[[nodiscard]] Schema jobs_schema();

/// Reads and checks everything that can be checked before planning: sections, variants, catalogue names, strategy names
/// and options. Throws UserError with every mistake.
[[nodiscard]] Scenario load_scenario(const std::string& file);
/// The same with other values at some keys, written as the keys of a variant are; any key may change.
[[nodiscard]] Scenario load_scenario_with(const std::string& file,
                                          const std::vector<std::pair<std::string, std::string>>& settings);
/// The same from text; `name` stands for the file in messages, files are looked up in `directory`.
[[nodiscard]] Scenario load_scenario_text(const std::string& text, const std::string& name,
                                          const std::string& directory);

}  // namespace trainyard
