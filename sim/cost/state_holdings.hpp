// What must survive a change of the cluster: who holds which part of which layer's training state.
#pragma once

#include <vector>

#include "sim/cost/placement.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Parts of a training state that are sharded in ways of their own: weights as they compute, and the optimizer's (with its fp32 copy).
enum class StateKind { weights, optimizer };

/// The share [from, to) of one layer's weights or optimizer state; the whole layer is [0, 1).
struct StatePart {
  LayerId layer{};
  StateKind kind = StateKind::weights;
  double from = 0, to = 1;
  friend bool operator==(const StatePart&, const StatePart&) = default;
};

/// [device of the cluster]: its parts, by kind, layer and begin.
using Holdings = std::vector<std::vector<StatePart>>;

/// What the devices of a Plan hold between two steps: tensor ranks their slices; with ZeRO-1 and 2 the optimizer's state in equal parts
/// over all holders of a slice, with ZeRO-3 both over the shards. Sources: Rajbhandari et al., arXiv 1910.02054 §5; Zhao et al., arXiv 2304.11277 §3.
/// `devices`: of the cluster, which the Plan must have passed Plan::check on.
[[nodiscard]] Holdings holdings_of(const Plan& plan, const Workload& workload, std::size_t devices);

/// Bytes of a whole layer: 2 a parameter for weights and 12 for Adam's fp32 copy and moments of those trained (4 and 8 where weights are
/// fp32), as static_memory() counts them. A table that head and embedding share counts with both, as
/// both keep it.
class StateSizes {
 public:
  explicit StateSizes(const Workload& workload);
  [[nodiscard]] Bytes of(LayerId layer, StateKind kind) const { return (kind == StateKind::weights ? weights_ : optimizer_)[index(layer)]; }
  [[nodiscard]] Bytes of(const StatePart& part) const { return of(part.layer, part.kind) * (part.to - part.from); }
  [[nodiscard]] Bytes of(const std::vector<StatePart>& parts) const;
  [[nodiscard]] Bytes total() const;
  [[nodiscard]] std::size_t layers() const { return weights_.size(); }

 private:
  std::vector<Bytes> weights_, optimizer_;  ///< [layer]
};

}  // namespace trainyard
