// Time of one kernel on one device with nothing beside it.
#pragma once

#include "sim/model/cluster.hpp"
#include "sim/model/operator_class.hpp"
#include "sim/model/workload.hpp"

namespace trainyard {

/// t = ((2mnk (1 + k0/k) q^a / (peak e s))^3 + (bytes / (0.85 BW))^3)^(1/3) + t0, q the padded over the true work of the best
/// tile in whole waves of multiprocessors; results of fp8 and fp4 operands are bf16. Source: a six-parameter fit of measured GEMM latencies (GPU catalogue, `gemm`).
/// Zero for an empty product. InternalError when the device has no such data type.
[[nodiscard]] Seconds gemm_time(const DeviceType& device, DataType type, const GemmShape& shape);

/// As gemm_time, of an implicit product whose operands' rows overlap in memory, so that it moves `moved` and not what its sides say:
/// tensor-core kernels of convolutions gather their windows on chip (cuDNN developer guide, implicit GEMM).
[[nodiscard]] Seconds convolution_time(const DeviceType& device, DataType type, const GemmShape& shape, Bytes moved);

/// As gemm_time, a product a head. Where a side leaves rows that are no multiple of 16 bytes, off the tensor cores, at the device's fp32 peak:
/// cuBLAS before 11 asked for such rows (NVIDIA, Matrix Multiplication Background, table 1), and steps of BigScience with such heads show
/// that batched products of later ones still do (fidelity study).
[[nodiscard]] Seconds batched_gemm_time(const DeviceType& device, DataType type, const GemmShape& shape);

/// One product an expert, `batch` of them with m rows each: the same form with the curve of grouped products. Where a device has none,
/// that of single products.
[[nodiscard]] Seconds grouped_gemm_time(const DeviceType& device, DataType type, const GemmShape& shape);

/// Padded over true work, at least 1.
[[nodiscard]] double tile_quantisation(const GemmShape& shape, int multiprocessors);

/// One call of an attention kernel.
struct AttentionCall {
  Flops forward_flops{};         ///< full square, as in the Workload
  bool causal = true;
  double sequence = 0;
  double head_rows = 0;          ///< queries of all heads and sequences; 0: many
  double head_size = 0;          ///< 0: that of the measured rates
  double window = 0;             ///< keys that a query sees at most; 0: all
};

/// rate = peak_rate / (1 + half_length / S + 128 multiprocessors / head rows), on the FLOPs of the causal half; the backward kernel does 2.5
/// times the work of the forward one (it computes the scores again; FlashAttention-2, arXiv 2307.08691 §3). The last term: a block of 128
/// queries of a head occupies a multiprocessor (§3.2 there), so that about one round of blocks is lost in filling and emptying them.
/// Heads h below 128, where the rates were measured, take (h + h0)/(128 + h0) of its time a score: exponentials do not get fewer. On H100 h0 of
/// cuDNN is 104 forward and 31 backward, of FlashAttention 2 21 and 15 (rates without mask at 8k and 16k tokens, head sizes 64 and 128:
/// FlashAttention-3, arXiv 2407.08608, figures 5 and 6); elsewhere it grows with the bf16 peak of a multiprocessor, since its
/// exponentials have not grown (FlashAttention-4, 2026: on Blackwell twice the products and as many exponentials).
/// A block under a window w < S meets w + 128 keys, of which it masks some, and fills and empties the pipeline as a block of S/2 keys does:
/// half_length then counts against 2 (w + 128) instead of S.
/// The kernel must be available on the device.
[[nodiscard]] Seconds fused_attention_time(const DeviceType& device, AttentionKernel kernel, const AttentionCall& call, bool backward);

/// bytes / (bandwidth · efficiency) + launch.
[[nodiscard]] Seconds memory_bound_time(const DeviceType& device, Bytes bytes);

/// Whether the device runs this kernel; `unfused` and `fused_softmax` run everywhere.
[[nodiscard]] bool has_attention_kernel(const DeviceType& device, AttentionKernel kernel);

/// One update of mixed-precision Adam over this many parameters: 34 bytes a parameter and the gradient read once, plus 2 ms of
/// host work. Source: counted (fp32 weight, two moments read and written, 16-bit weight written).
[[nodiscard]] Seconds adam_time(const DeviceType& device, double parameters, DataType gradient_type);

}  // namespace trainyard
