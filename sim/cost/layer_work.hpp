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

/// How a layer's experts are cut: over `ranks` of whole experts, each over `tensor` devices.
struct ExpertCut {
  int ranks = 1, tensor = 1;
  bool apart = false;                    ///< from the layout of the rest: tokens and gradients travel among devices of their own
  double items = 0;                      ///< experts on this device; 0: an equal part
  double load = 1;                       ///< its tokens over the mean
  double peak = 1;                       ///< the same of the busiest rank, which exchanges wait for
  double most_held = 1;                  ///< items of the rank that holds most, over the mean: pooled rows go out by tables, not by look-ups
  int nodes = 0;                         ///< most nodes that a token's experts lie on; 0: any
  friend bool operator==(const ExpertCut&, const ExpertCut&) = default;
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
  ExpertCut experts{};
};

/// Who takes part in a collective inside a layer: the members of one line along an axis. `expert`: all ranks of an expert axis;
/// `expert_tensor`: the devices that share one rank's experts.
enum class LayerGroup { tensor, context, rows, columns, inner, expert, expert_tensor };

/// A collective along an axis, on `size` bytes (the whole buffer; of an all-to-all what one member sends).
struct LayerCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size{};
  LayerGroup group = LayerGroup::tensor;
  double copies = 0;                     ///< of each token in an all-to-all, where the software sends it once a node; 0: all are sent
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

/// A block of a transformer or one of its branches: attention, MLP, experts, a Mamba layer or a residual block of convolutions; not the embedding, the head or a projector.
[[nodiscard]] bool is_block(const LayerType& layer);
/// Recompute applies to blocks (embedding and head always keep their activations) and to all layers without operators.
[[nodiscard]] bool can_recompute(const LayerType& layer);

/// What `cut` leaves of an amount: 1, 1/t, or (sequence) 1/t with sequence parallelism; of routed tokens what comes to this device; on a
/// grid always 1/t.
[[nodiscard]] double remaining_share(TensorCut cut, const LayerCut& how);
/// What one device holds of an operator's parameters: of experts its own, else the share of its cut (norms and biases are replicated
/// however activations are split).
[[nodiscard]] double parameter_share(const Operator& op, const LayerCut& how);

}  // namespace trainyard
