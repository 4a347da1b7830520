// The world of a job as the strategy, the recovery and the simulation make it: Plans for the nodes that are there, their steps and
// saves, and moves of state between them, each simulated once for alike clusters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/job/deployment.hpp"
#include "sim/job/node_classes.hpp"
#include "sim/job/step_memory.hpp"
#include "sim/job/step_simulator.hpp"
#include "sim/lowering/state_moves.hpp"
#include "sim/model/market.hpp"
#include "sim/planning/recovery.hpp"

namespace trainyard {

/// Everything that stays the same while a job runs.
struct WorldSetting {
  const Cluster& cluster;                ///< with all nodes
  const Workload& workload;
  const Market& market;
  Strategy& strategy;
  const Recovery& recovery;
  LoweringOptions lowering;
  const WorkerNursery& nursery;
  JobMemory& memory;
  int jobs = 1;
  std::uint64_t seed = 1;
  bool keep_trace = false;               ///< transfers tell who fetches what from whom
};

/// What a recovery saves where this market has a place for it.
[[nodiscard]] SavePolicy saves_in(const Market& market, const Recovery& recovery);

class PlannedWorld final : public JobWorld {
 public:
  explicit PlannedWorld(const WorldSetting& setting);

  /// Where no Plan fits all of the nodes, the last ones of the arrangement are left out until one does.
  [[nodiscard]] std::optional<Deployment> deploy(const std::vector<NodeId>& there, const StateHolder* before) override;
  [[nodiscard]] std::optional<StateTransfer> transfer(Deployment& next, const StateSources& sources) override;

  /// Of a deployment by its id.
  [[nodiscard]] const Planned& planned(int id) const { return sites_[std::size_t(id)].planned; }
  [[nodiscard]] const StepReport& step(int id) const { return sites_[std::size_t(id)].step; }
  /// The nodes of the deployment as a cluster.
  [[nodiscard]] Cluster cluster_of(int id) const;
  /// Why no Plan fitted the nodes that were looked at first.
  [[nodiscard]] const std::string& first_refusal() const { return first_refusal_; }
  [[nodiscard]] std::int64_t simulated() const { return memory_.needed(); }

 private:
  /// What one arrangement of nodes amounts to.
  struct Site {
    std::vector<NodeId> nodes;           ///< that were there when it was made; alike ones may stand in
    Planned planned;
    StepReport step;
    Deployment deployment;               ///< nodes as above
    std::vector<std::uint64_t> roles;    ///< [place] what its devices hold; 0: nothing
    std::vector<int> kept;               ///< [place] the place whose copies it keeps for `peer`; -1: none
  };
  struct HeldBy;
  /// Of the strategy for an arrangement: which of its places have work.
  struct Answer {
    bool fits = false;
    std::vector<bool> used;
  };
  /// A transfer between places, and its moves where traces are kept.
  struct KnownTransfer {
    StateTransfer transfer;
    std::vector<StateMove> moves;        ///< in the cluster of the nodes it was simulated on
    std::vector<Seconds> start, end;     ///< [move]
  };
  /// The recovery's own Plan for nodes in some order.
  struct Replanned {
    int site = -1;                       ///< none fits
    std::vector<std::size_t> places;     ///< [place of the site] which of the nodes stands there
  };
  /// [class of nodes] how many a strategy was given, and for how many it had work.
  struct Spared {
    std::vector<int> all, used;
  };

  [[nodiscard]] Deployment on(std::vector<NodeId> nodes);
  [[nodiscard]] std::vector<int> counts_of(const std::vector<NodeId>& nodes) const;
  [[nodiscard]] std::optional<std::vector<NodeId>> by_larger(const std::vector<NodeId>& there, const StateHolder* before) const;
  [[nodiscard]] const Answer& answer_for(const Arrangement& arrangement, const StateHolder* before);
  [[nodiscard]] Answer find_answer(const Arrangement& arrangement, const StateHolder* before);
  [[nodiscard]] const PlanOrInfeasible& ask_once(const Arrangement& arrangement, const PlanningContext& context, const StateHolder* before);
  [[nodiscard]] Answer place_on_used(Planned planned, const std::vector<NodeId>& nodes, const Cluster& cluster);
  [[nodiscard]] int add_site(const std::vector<NodeId>& nodes, Planned planned, const Cluster& cluster, StepSimulator& simulator, bool by_recovery);
  [[nodiscard]] PlanOrInfeasible ask(const PlanningContext& context, const StateHolder* before, const std::vector<NodeId>& nodes);
  [[nodiscard]] std::optional<Deployment> by_recovery(const std::vector<NodeId>& there, const StateHolder& before);
  [[nodiscard]] Replanned replan(const std::vector<NodeId>& order, int old, const std::vector<std::optional<NodeId>>& now_of);
  [[nodiscard]] Replanned find_site(const std::vector<NodeId>& order, Planned planned, const Cluster& cluster);
  [[nodiscard]] std::string fill_deployment(Site& site, const Cluster& cluster, bool by_recovery);
  [[nodiscard]] static std::vector<int> kept_for(const Site& site);
  [[nodiscard]] Holdings holdings(const Site& site, const Cluster& cluster) const;
  [[nodiscard]] const Holdings& holdings_at(const Site& site);
  [[nodiscard]] bool saves_to(CopyPlace place) const;

  [[nodiscard]] const Timeline& timeline_of(const std::vector<StateMove>& moves, const Cluster& cluster);
  [[nodiscard]] Seconds time_of(const std::vector<StateMove>& moves, const Cluster& cluster);
  [[nodiscard]] std::string host_shortfall(const Site& site, const Cluster& cluster, const Holdings& held) const;
  void time_saves(Site& site, const Cluster& cluster, const Holdings& held);
  [[nodiscard]] std::vector<StateMove> moves_to_peers(const Site& site, const Cluster& cluster, const Holdings& held) const;
  [[nodiscard]] HeldBy held_by(const std::optional<StateHolder>& holder) const;
  [[nodiscard]] std::uint64_t role_at(const HeldBy& held, NodeId node) const;
  [[nodiscard]] std::uint64_t peer_key(const HeldBy& hosts, NodeId node) const;
  void find_places(Deployment& next, const HeldBy& from);
  void keep_order(Deployment& next, const HeldBy& from) const;
  [[nodiscard]] double shared_bytes(const Site& old, std::uint64_t old_role, const Site& now, std::uint64_t new_role);
  [[nodiscard]] std::optional<KnownTransfer> simulate_transfer(const Deployment& next, const HeldBy& devices, const HeldBy& hosts, bool in_store,
                                                               const std::vector<NodeId>& nodes);
  [[nodiscard]] std::vector<StateFetch> fetches_of(const KnownTransfer& known, const std::vector<NodeId>& nodes) const;
  [[nodiscard]] Holdings copies_at(const HeldBy& held, const std::vector<NodeId>& nodes, const Cluster& cluster, bool in_hosts);
  [[nodiscard]] Dollars egress_of(const std::vector<StateMove>& moves, const Cluster& cluster) const;

  WorldSetting setting_;
  NodeClasses classes_;
  StateSizes sizes_;
  SavePolicy saves_;
  StepMemory& memory_;
  std::vector<Site> sites_;
  std::map<std::uint64_t, Answer> answers_;  ///< by arrangement
  std::map<std::uint64_t, int> site_of_;  ///< by arrangement of the nodes that have work
  std::vector<Spared> spared_;
  std::map<int, Holdings> holdings_;     ///< of the last deployments that were asked for
  std::map<std::string, std::optional<KnownTransfer>> transfers_;
  std::map<std::string, Replanned> replanned_;
  std::map<std::string, int> site_of_plan_;  ///< of the recovery, by classes of nodes and Plan
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> shared_;  ///< bytes of two roles
  std::string first_refusal_;
};

}  // namespace trainyard
