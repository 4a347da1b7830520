// The contract of a recovery: what it saves, when and where, and how a job goes on after nodes come and go (design.md §8).
// The job level (sim/job) does the rest: it lowers every save and every change of Plan to a TaskGraph and simulates it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/cost/state_holdings.hpp"
#include "sim/planning/strategy.hpp"

namespace trainyard {

/// Where a saved copy of the state lies: in the memory of each device's own host, in that of the next node of the Plan, or in the
/// store that outlives all nodes.
enum class CopyPlace { host, peer, store };

/// What is done when the loss of a node is announced: nothing, save the state after the step that runs, or leave the node: go over to a
/// Plan without it while it still serves as a source.
enum class OnNotice { nothing, save, leave };

/// What is saved, when and where. Devices always save all that they hold; what goes to the store goes once.
struct SavePolicy {
  std::vector<CopyPlace> to;             ///< empty: nothing is ever saved
  /// Training time between saves, rounded up to whole steps; 0: after every step; nothing: the Young/Daly interval sqrt(2 C M), with C
  /// the time for which a save holds up training, by itself and by the steps that its upload makes longer, and M the mean time between losses so far, `first_loss` taken as one that was seen.
  /// Sources: Young, CACM 17(9), 1974; Daly, FGCS 22, 2006.
  std::optional<Seconds> every;
  Seconds first_loss{3600};
  /// What goes to the store goes with the first save, then only when so long has been trained since; nothing: with every save.
  std::optional<Seconds> store_every;
  bool store_if_there = false;           ///< in a market without a store nothing goes there; else that is the user's mistake
  bool behind_training = false;          ///< what goes to the store waits in the hosts' memory and travels beside the steps
};

/// How a job takes its state up again.
struct RestorePolicy {
  /// Survivors keep the state of the last whole step and hand it on, so that only the step at hand is lost; else every device starts
  /// from the newest saved version that is whole.
  bool from_devices = false;
  Seconds restart{};                     ///< after every change of Plan by the strategy: processes start, communicators are set up
  Seconds failover{};                    ///< the same after a Plan by Recovery::replan
};

/// How far a recovery looks ahead: from how many nodes there were at the last `past` intervals to how many there will be at the next `ahead`.
struct LookAhead {
  Seconds interval{60};
  int past = 12, ahead = 12;
};

/// What a recovery sees of a change when it makes the next Plan itself.
struct Replanning {
  const PlanningContext& now;            ///< cluster after the change
  const Cluster& before;
  const Plan& running;                   ///< on the cluster before
  const std::vector<std::optional<NodeId>>& now_of;  ///< [node before]: its id now; nothing: lost
};

class Recovery {
 public:
  virtual ~Recovery() = default;
  [[nodiscard]] virtual SavePolicy saves() const = 0;
  [[nodiscard]] virtual RestorePolicy restore() const = 0;
  [[nodiscard]] virtual OnNotice on_notice() const { return OnNotice::nothing; }
  /// Whether it forecasts how many nodes there will be, to take new ones in only for as long as they seem to stay; nothing: by the mean time
  /// between losses so far. Default: nothing.
  [[nodiscard]] virtual std::optional<LookAhead> look_ahead() const { return std::nullopt; }
  /// For recoveries that change the step: the strategy's Plan with what they add to it. Default: as it is.
  [[nodiscard]] virtual Plan modify(Plan plan, const PlanningContext& context) const;
  /// What devices hold between steps beyond holdings_of(plan): copies kept for others. Default: nothing (empty).
  [[nodiscard]] virtual Holdings also_held(const Plan& plan, const Workload& workload, const Cluster& cluster) const;
  /// Whether it has an own answer to losses: replan() is called only then.
  [[nodiscard]] virtual bool replans() const { return false; }
  /// The next Plan, by the recovery itself (already modified); nothing: the strategy plans again. Called after losses only. Default: nothing.
  [[nodiscard]] virtual std::optional<Planned> replan(const Replanning& change) const;
};

}  // namespace trainyard
