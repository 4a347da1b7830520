// Kernels of a scan over states by chunks: Mamba-2's state-space duality.
#pragma once

#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/task_graph.hpp"

namespace trainyard {

/// One scan on one device.
struct ScanCall {
  double rows = 0;    ///< tokens of all sequences
  double width = 0;   ///< of x and y: heads times their size
  double state = 0;   ///< of each channel
  double groups = 0;  ///< of heads that share B and C
  double chunk = 0;   ///< tokens
  Bytes element{};    ///< of x, y, B and C; states and products of C and B are made in fp32
};

/// Its kernels in order. A token costs, with width W, state N, groups G, chunk Q: forward C·Bᵗ 2QNG, states of chunks
/// 2WN, passed on (bytes alone), the scan 2WN + WQ; backward the first three again, then 8WN + 3WQ + 4QNG for gradients
/// of states, x, B, C, C·Bᵗ and the decay. Each takes the longer of its bytes and of its products at 0.61 TFLOP/s a
/// multiprocessor, and a launch; sums of dt are left out. Source: kernels and types of state-spaces/mamba,
/// mamba_ssm/ops/triton/ssd_combined.py; rate: scan of 128 heads of 64, N 128, G 1, Q 256 on H100, 8,192 to 262,144
/// tokens, median 87.5 ns a token (vllm-project/vllm #27299), of which passing takes 9. The same on H200 for the last
/// kernel alone is 0.55 (tile-ai/TileOPs #1608). Other GPUs by multiprocessors: exponentials and loads bound it, not
/// tensor cores, of whose peak it reaches a twelfth: that share counts where multiprocessors are not known.
[[nodiscard]] std::vector<Kernel> scan_kernels(const DeviceType& device, const ScanCall& call, bool backward);

}  // namespace trainyard
