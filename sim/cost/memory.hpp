// Bytes that one device of a stage holds, by what they are (allocated by tensors; fragmentation and context come on top).
#pragma once

#include <span>

#include "sim/cost/layer_work.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/step_report.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// Parameters of these layers on one device, cut by the tensor axis.
[[nodiscard]] double parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut);
/// Of these those of experts that are cut apart.
[[nodiscard]] double expert_parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut);

/// Those of them that are trained: all, without experts whose gradients are exchanged apart, and those.
[[nodiscard]] double trained_parameters_on_device(const Module& module, std::span<const LayerId> layers, const LayerCut& cut);
[[nodiscard]] double trained_dense_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut);
[[nodiscard]] double trained_expert_parameters(const Module& module, std::span<const LayerId> layers, const LayerCut& cut);

/// Weights and optimizer states of the tables of these layers on one device.
[[nodiscard]] Bytes table_bytes(const Module& module, std::span<const LayerId> layers, const LayerCut& cut);

/// What stays for the whole step.
struct StaticMemory {
  Bytes weights{}, gradients{}, optimizer{}, buffers{};
  [[nodiscard]] Bytes total() const { return weights + gradients + optimizer + buffers; }
};

/// weights 2 P (4 P in fp32), gradients of the software's type, optimizer 12 P / holders with ZeRO-1 (fp32 weight and two moments;
/// 8 P where weights are fp32), buffers: cached weight-gradient dummies. Source: memory.md §2.2 and §2.9; Rajbhandari et al.,
/// arXiv 1910.02054 §3; with ZeRO-2 gradients in parts too. `holders`: devices over which the states are sharded, 1 without. zero 3: fp32 weights, gradients and both
/// moments in parts, 16 P / holders (PyTorch FSDP, arXiv 2304.11277 §4.1; gathered layers come on top while they are used).
/// `expert_holders`: the same of experts that are cut apart; 0: as the rest. Frozen parameters have weights alone, in the workload's precision.
/// A table that head and embedding share counts once where both are among the layers.
[[nodiscard]] StaticMemory static_memory(const Module& module, std::span<const LayerId> layers, const LayerCut& cut,
                                         const Workload& workload, int holders, int zero, int expert_holders = 0);

/// Parts of the states with zero 3: the shards, and the context ranks in each where the software cuts states over them too.
[[nodiscard]] int state_parts(int shards, const LayerCut& cut, const Software& software);

/// In a stage of a pipeline with zero 3 whose software resharded nothing before the last micro-batch: gathered weights of all layers as
/// buffers, and gradients whole (in fp32), whose parts come when the whole ones are scattered. Source: memory.md §2.2; PyTorch,
/// torch/distributed/pipelining/stage.py.
void keep_whole(StaticMemory& held, const Module& module, std::span<const LayerId> layers, const LayerCut& cut, const Workload& workload);

/// The flat copy of a stage's gradients for their reduction, at most 500 million at a time; zero where the software has none.
/// Source: DeepSpeed, runtime/engine.py, MEMORY_OPT_ALLREDUCE_SIZE.
[[nodiscard]] Bytes flat_gradients(const Module& module, std::span<const LayerId> layers, const LayerCut& cut, const Workload& workload);

/// What one micro-batch adds.
struct ActivationMemory {
  Bytes kept{};       ///< from the end of its forward to the end of its backward pass
  Bytes forward_peak{};   ///< most held inside the forward pass (at least `kept`)
  Bytes backward_peak{};  ///< most held inside the backward pass, above what is held before it starts
};

/// Neighbouring layers [from, to) whose activations are rebuilt together before their backward passes.
struct RecomputeBlock {
  std::size_t from = 0, to = 0;
};
/// `every: n` cuts runs of layers with attention into blocks of n, from the first; every other layer is a block of its own.
/// `recompute`: one a layer.
[[nodiscard]] std::vector<RecomputeBlock> recompute_blocks(const Module& module, std::span<const LayerId> layers,
                                                           std::span<const Recompute> recompute);

/// What one layer of a chunk holds for one micro-batch. `each`: how layers are cut where not all as `cut` says.
struct LayerMemory {
  Bytes kept{};       ///< from the forward to the backward pass
  Bytes rebuilt{};    ///< what was dropped and stands again while its block's backward passes run
  Bytes transient{};  ///< inside its backward pass
  Bytes gathered{};   ///< blocks of a product on a grid, inside both passes
  Bytes logits{};     ///< part of `kept`
};
[[nodiscard]] std::vector<LayerMemory> layer_memory(const Module& module, std::span<const LayerId> layers,
                                                    std::span<const Recompute> recompute, const LayerCut& cut,
                                                    const DeviceType& device, const Workload& workload, std::span<const LayerCut> each = {});

/// Sum of the operators' saved tensors; with full recompute 2 s b h a layer and the full set of one layer while its backward
/// runs; with `every: n` 2 s b h a block and the full sets of one block; backward transients of the MLP, of written scores, of sequence
/// parallelism and of the head. Peaks are the most of any layer: in the forward pass later layers hold nothing yet, in the backward pass
/// nothing any more. Source: memory.md §2.3-2.8; Korthikanti et al., arXiv 2205.05198, eq. 1-6; Chen et al., arXiv 1604.06174 §3 (blocks).
/// `recompute`: one a layer; empty: as `cut` says.
[[nodiscard]] ActivationMemory activation_memory(const Module& module, std::span<const LayerId> layers, const LayerCut& cut,
                                                 const DeviceType& device, const Workload& workload,
                                                 std::span<const Recompute> recompute = {}, std::span<const LayerCut> each = {});

/// What the device cannot give to tensors at this peak: fragmentation of the caching allocator (3 % of the allocated bytes with a
/// tensor axis, 6.5 % without) and the type's reserve. Source: memory.md §2.10.
[[nodiscard]] Bytes reserved_memory(const DeviceType& device, Bytes allocated, int tensor);

/// `does not fit: a100.0.0 lacks 6.6 GB (weights 6.5 GB · gradients .. ; of 39.6 GB)`.
[[nodiscard]] std::string shortfall_text(const MemoryReport& memory);

}  // namespace trainyard
