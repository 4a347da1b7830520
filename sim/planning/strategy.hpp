// The contract of a strategy: a cluster and a workload in, a Plan out (design.md §8).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/step_report.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

class Diagnostics;

/// Why a case has no number.
struct SimulationError { std::string why; };
/// A step that was simulated; it may not fit (report.memory says by how much).
using SimulationOutcome = std::variant<StepReport, SimulationError>;

/// Simulates Plans; what a planner uses to judge its candidates.
class Simulator {
 public:
  virtual ~Simulator() = default;
  /// In the order of `plans`, whatever runs in parallel.
  [[nodiscard]] virtual std::vector<SimulationOutcome> simulate(std::span<const Plan> plans) = 0;
};

/// A Plan that was looked at and not taken.
struct Rejected {
  std::string what;                      ///< one line of the Plan
  std::string why;
};

struct Planned {
  Plan plan;
  std::optional<Seconds> estimated_step_time;   ///< by the strategy's own cost model
  std::vector<Rejected> rejected;
  bool truncated = false;                       ///< the budget ended before the search
  std::vector<std::string> remarks = {};        ///< what else the search found out, one line each
};

struct Infeasible {
  std::string why;                              ///< complete: device, bytes lacking, by class
  std::optional<MemoryReport> memory;           ///< of the nearest miss
  std::vector<Rejected> rejected;
};

/// A Plan, or the reason why none fits.
using PlanOrInfeasible = std::variant<Planned, Infeasible>;

struct PlanningContext {
  const Cluster& cluster;                ///< as it is now
  const Workload& workload;
  Simulator& simulator;
  std::uint64_t seed = 1;
};

/// What changed in the cluster, in terms of the one before.
struct ClusterChange {
  std::vector<NodeId> lost;              ///< ids in the cluster before
  std::vector<NodeId> joined;            ///< ids in the cluster now
};

/// Where the job stands when something changes.
struct JobState {
  const PlanningContext& now;            ///< cluster after the change
  const Plan& running;                   ///< on the cluster before
  double steps_done = 0;
  Seconds time{};
};

/// What to do about it.
struct Reaction {
  PlanOrInfeasible plan;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// What results call it; default: "", the name it is registered by.
  [[nodiscard]] virtual std::string label() const { return ""; }
  /// What shows, before anything is simulated, to be wrong with the options on this cluster and workload (a written Plan that
  /// does not fit them) goes to `diagnostics`. Default: nothing.
  virtual void check(const Cluster& cluster, const Workload& workload, Diagnostics& diagnostics) const;
  [[nodiscard]] virtual PlanOrInfeasible plan(const PlanningContext& context) = 0;
  /// Default: plan again on what is left.
  [[nodiscard]] virtual Reaction react(const ClusterChange& change, const JobState& state);
};

}  // namespace trainyard
