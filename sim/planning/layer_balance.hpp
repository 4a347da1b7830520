// Cuts of a model into stages that are balanced for their devices and fit their memory.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/planning/layer_costs.hpp"

namespace trainyard {

/// What one stage would take of each layer, one micro-batch, one device.
struct StageLoad {
  std::vector<Seconds> time;             ///< [layer] forward and backward
  std::vector<Bytes> states, kept, transient;   ///< [layer]
  double in_flight = 1;                  ///< micro-batches whose activations it keeps
  Bytes usable{};                        ///< of its smallest device
  Seconds transfer{};                    ///< added to its time: one message with the stage before and one with the next, for the two directions go at once
};

/// How the states of a layer are shared.
struct StateSharing {
  int holders = 1;                       ///< devices over which `zero` shards
  int zero = 0;
};

/// Loads of a stage whose micro-batch is worked on by such a tensor group; in_flight 1, no transfer.
[[nodiscard]] StageLoad stage_load(LayerCosts& costs, const LayerQuestion& question, const StateSharing& sharing, const Workload& workload);

/// Time of layers [first, last) on the stage, with its transfer; and whether they fit.
[[nodiscard]] Seconds stage_time(const StageLoad& stage, int first, int last);
[[nodiscard]] bool stage_fits(const StageLoad& stage, int first, int last);

struct BalancedCut {
  std::vector<int> bounds;               ///< stage s holds layers [bounds[s], bounds[s + 1])
  Seconds slowest{}, sum{};              ///< of the stages' times
  /// Of 1f1b without waits: sum + (micro_batches - 1) · slowest.
  [[nodiscard]] Seconds step(int micro_batches) const { return sum + slowest * double(micro_batches - 1); }
};

/// The cut whose slowest stage is fastest, and of those the one of the least sum; at least one layer a stage. Nothing where none
/// fits. Exact, by dynamic programming: stages x layers^2.
[[nodiscard]] std::optional<BalancedCut> balance_layers(std::span<const StageLoad> stages);

}  // namespace trainyard
