// What one device does for one micro-batch in one layer: kernels and collectives in order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/collective_time.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/task_graph.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Devices on a grid for products C = A·B: an axis cuts the rows of A and C, one the columns of B and C, one the inner side.
struct ProductGrid {
  int rows = 1, columns = 1, inner = 1;
  [[nodiscard]] int members() const { return rows * columns * inner; }
  friend bool operator==(const ProductGrid&, const ProductGrid&) = default;
};

/// How a layer is cut, and for whom.
struct LayerCut {
  int tensor = 1;                        ///< devices that share the weights; with a grid, all of its members
  double part = 0;                       ///< of the tensor axis that is this device's, where shares are unequal; 0: 1/tensor
  ProductGrid grid{};                    ///< of more than one member: how they share every product
  Slices slices{};                       ///< parts of a micro-batch (rows) and of row-cut products (columns)
  bool hides_slices = false;             ///< a slice's collectives run beside kernels of other slices
  bool sequence_parallel = false;        ///< activations between tensor operators split by rows
  RecomputeKind recompute = RecomputeKind::none;
  int context = 1;                       ///< devices that share each sequence by positions, balanced for causal attention
  ContextKind context_kind = ContextKind::ring;
  double sequences = 1;                  ///< of this device's micro-batch; a share 1/context of each counts as so much of one
  double tokens = 0;                     ///< of one sequence
  double accumulated = 0;                ///< share of the micro-batches whose gradients are added to those of earlier ones
  bool sharded = false;                  ///< weights are gathered for their use, and gradients scattered, in every micro-batch
  bool regathers = true;                 ///< sharded weights are gathered again for the backward pass
};

/// Who takes part in a collective inside a layer: the members of one line along an axis.
enum class LayerGroup { tensor, context, rows, columns, inner };

/// A collective along an axis, on `size` bytes (the whole buffer).
struct LayerCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size{};
  LayerGroup group = LayerGroup::tensor;
};

/// A kernel, or a collective, or both at once (then it ends when both have ended). `behind`: the collective follows its kernel, and the
/// next piece that is `behind` waits for the kernel alone.
struct Piece {
  TaskKind kind = TaskKind::forward;     ///< of the kernel: forward, recompute or backward
  std::string name;                      ///< operator
  std::optional<Kernel> kernel;
  std::optional<LayerCollective> collective;
  bool behind = false;
};

struct LayerWork {
  std::vector<Piece> forward;
  std::vector<Piece> recompute;          ///< what is done again for the backward pass
  std::vector<Piece> backward;
  Flops recomputed{};                    ///< by model convention (attention in full), this device
  std::vector<std::string> notes;        ///< what of it lies outside measured ground
};

/// Pieces of one layer (with slices: of one slice of the micro-batch) on one device type; of a measured layer whole passes. Attention kernels that the device lacks run unfused with a fused softmax.
[[nodiscard]] LayerWork layer_work(const LayerType& layer, const LayerCut& cut, const DeviceType& device, DataType precision,
                                   const Software& software);

[[nodiscard]] bool has_attention(const LayerType& layer);
/// Recompute applies to layers with attention (embedding and head always keep their activations) and to all without operators.
[[nodiscard]] bool can_recompute(const LayerType& layer);

/// What `cut` leaves of an amount: 1, 1/t, or (sequence) 1/t with sequence parallelism; on a grid always 1/t.
[[nodiscard]] double remaining_share(TensorCut cut, const LayerCut& how);

}  // namespace trainyard
