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

/// How a layer is cut, and for whom.
struct LayerCut {
  int tensor = 1;
  double part = 0;                       ///< of the tensor axis that is this device's, where shares are unequal; 0: 1/tensor
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

/// Who takes part in a collective inside a layer.
enum class LayerGroup { tensor, context };

/// A collective over the tensor or the context axis, on `size` bytes (the whole buffer).
struct LayerCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size{};
  LayerGroup group = LayerGroup::tensor;
};

/// A kernel, or a collective, or both at once (then it ends when both have ended).
struct Piece {
  TaskKind kind = TaskKind::forward;     ///< of the kernel: forward, recompute or backward
  std::string name;                      ///< operator
  std::optional<Kernel> kernel;
  std::optional<LayerCollective> collective;
};

struct LayerWork {
  std::vector<Piece> forward;
  std::vector<Piece> recompute;          ///< what is done again for the backward pass
  std::vector<Piece> backward;
  Flops recomputed{};                    ///< by model convention (attention in full), this device
  std::vector<std::string> notes;        ///< what of it lies outside measured ground
};

/// Pieces of one layer on one device type; of a measured layer whole passes. Attention kernels that the device lacks run unfused with a fused softmax.
[[nodiscard]] LayerWork layer_work(const LayerType& layer, const LayerCut& cut, const DeviceType& device, DataType precision,
                                   const Software& software);

[[nodiscard]] bool has_attention(const LayerType& layer);
/// Recompute applies to layers with attention (embedding and head always keep their activations) and to all without operators.
[[nodiscard]] bool can_recompute(const LayerType& layer);

/// What `cut` leaves of an amount: 1, 1/t, or (sequence) 1/t with sequence parallelism.
[[nodiscard]] double remaining_share(TensorCut cut, const LayerCut& how);

}  // namespace trainyard
