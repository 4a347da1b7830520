// One's own measurements: logs of nccl-tests, tables of kernels, step times.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/collective_time.hpp"
#include "validation/fit/kernels_fit.hpp"

namespace trainyard::fit {

/// A log of nccl-tests: who took part, and its out-of-place times.
struct NcclLog {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 0, nodes = 0;
  struct Line {
    Bytes size{};
    Seconds time{};
  };
  std::vector<Line> lines;
};

/// Ranks and hosts from its "Rank" lines, the operation from the line that names the test or else from busbw / algbw (all-reduce only).
/// UserError in one line, FILE:LINE, for what is no such log.
[[nodiscard]] NcclLog read_nccl_log(const std::string& file);

/// Products with their data type.
struct KernelTable {
  DataType type = DataType::bf16;
  std::vector<MeasuredProduct> products;
};

/// By its columns: aiconfigurator's (gemm_dtype, m, n, k, latency in ms; or dtype, m, n, k, latency_us) or those of Vidur's profiles of
/// linear layers (num_tokens, n_embd, n_expanded_embd, n_head, n_kv_head, use_gated_mlp, num_tensor_parallel_workers, time_stats.*.median
/// in ms, 0: missing; 16 bits). One table a data type. UserError in one line for anything else.
[[nodiscard]] std::vector<KernelTable> read_kernel_table(const std::string& file);

/// A Plan (YAML) and how long its step took.
struct MeasuredStep {
  std::string plan;
  Seconds time{};
};
/// Columns `plan` and `step_time_s`. UserError in one line for anything else.
[[nodiscard]] std::vector<MeasuredStep> read_steps(const std::string& file);

}  // namespace trainyard::fit
