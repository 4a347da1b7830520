// Times of one cell's work: its layers' pieces with the collectives priced on the cell's own links.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/collective_time.hpp"
#include "sim/cost/placement.hpp"
#include "sim/model/cluster.hpp"

namespace trainyard {

/// A kernel, a collective over a group of the cell, or both at once; `behind` as in Piece.
struct TimedPiece {
  TaskKind kind = TaskKind::forward;
  std::string name;
  Kernel kernel;                           ///< `alone` zero: none
  std::optional<CollectiveCost> collective;
  LayerGroup group = LayerGroup::tensor;   ///< of the collective
  Seconds collective_alone{};              ///< with only its own class beside it
  double share = 0;                        ///< of the device's compute that the collective takes while it moves bytes
  bool behind = false;
  [[nodiscard]] Seconds alone() const;     ///< the longer of the two: max(collective, kernel + share · time of its bytes)
};

/// Of one slice, where the micro-batch is cut into slices.
struct LayerPieces {
  LayerId layer{};
  std::vector<TimedPiece> forward, recompute, backward;   ///< recompute: what the backward pass does again first
};

struct StageWork {
  std::vector<LayerPieces> layers;         ///< in order of the forward pass
  std::vector<TimedPiece> receive;         ///< gather that completes what a transfer brought (scatter-gather)
  Flops recomputed{};                      ///< one micro-batch, all members of the cell
  std::vector<std::string> notes;          ///< what lies outside measured ground, each once
};

/// A group of a cell's devices. Rates of one ring: alone on its links (in `shape`), and together with other groups that run at the
/// same times.
struct RingGroup {
  CollectiveShape shape;
  Transport transport;
  BytesPerSecond together_rate{};
};
/// Unused where the axis has one member.
struct CellGroups {
  RingGroup tensor{}, context{}, rows{}, columns{}, inner{}, expert{}, expert_tensor{};
  [[nodiscard]] const RingGroup& of(LayerGroup group) const;
};

/// Members of different types or slowdowns: each kernel takes as long as the slowest member needs, since the group advances in lock step.
[[nodiscard]] StageWork stage_work(const Cell& cell, const StageRole& role, const Module& module, const Cluster& cluster,
                                   const Workload& workload, const CellGroups& groups);

/// A copy of so many parameters into the parts of a finer cut, or back: read and written once each, on the slowest member of a cell.
[[nodiscard]] Kernel relayout_kernel(const Cell& cell, const Cluster& cluster, double parameters, DataType type);

/// Bytes of one device pair in a transfer from a cell of `senders` to one of `receivers` devices; `last`: the last layer before the
/// cut that the transfer crosses.
[[nodiscard]] Bytes transfer_bytes(const StageRole& role, const Module& module, const Workload& workload, LayerId last, int senders,
                                   int receivers);

}  // namespace trainyard
