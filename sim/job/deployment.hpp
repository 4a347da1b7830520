// What the course of a job asks of the world: which Plan runs on the nodes that are there, and how long state takes to move.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/job_trace.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard {

/// A Plan at work on nodes.
struct Deployment {
  int id = 0;                            ///< of the Plan on a cluster of this shape, for the world
  std::vector<NodeId> nodes;             ///< [place in that cluster] the node that stands there
  std::vector<bool> used;                ///< [place] whether the Plan has work for it
  Seconds step{};
  Seconds step_beside_upload{};
  Seconds save{};                        ///< by which a save holds training up
  Seconds upload{};                      ///< for how long it then travels to the store; 0: it is there
  Bytes saved_to_store{};                ///< by a save
  double tokens = 0, samples = 0;        ///< a step
  double watts = 0;                      ///< of its GPUs during steps, above what they draw idle
  std::string plan;                      ///< in one line
  bool by_recovery = false;              ///< the Plan is Recovery::replan's
  [[nodiscard]] double tokens_per_s() const { return tokens / step.value; }
  [[nodiscard]] double steps_per_s() const { return 1 / step.value; }
};

/// A deployment whose devices or hosts hold a version of the state, as far as its nodes are still there.
struct StateHolder {
  const Deployment* deployment = nullptr;
  std::vector<bool> there;               ///< [place]
};

/// Where the wanted version lies.
struct StateSources {
  std::optional<StateHolder> devices, hosts;
  bool in_store = false;
};

/// How a deployment comes to its state.
struct StateTransfer {
  Seconds time{};
  Bytes from_devices{}, from_hosts{}, from_store{};
  Dollars egress{};
  std::vector<StateFetch> fetches{};     ///< where traces are kept; times from its start
};

/// Nodes that the job has to do with: those there, those lost since the deployment that runs.
class JobWorld {
 public:
  virtual ~JobWorld() = default;
  /// The best Plan for these nodes (ascending), after `before` if one ran on nodes of which some are lost; nothing: none fits.
  [[nodiscard]] virtual std::optional<Deployment> deploy(const std::vector<NodeId>& there, const StateHolder* before) = 0;
  /// Every device of `next` gets its state; nodes of one kind may change places in it for that. Nothing: a part is nowhere.
  [[nodiscard]] virtual std::optional<StateTransfer> transfer(Deployment& next, const StateSources& sources) = 0;
};

}  // namespace trainyard
